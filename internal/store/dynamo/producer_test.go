package dynamo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestTimeToLiveOfASensorIsWhenItExpires(t *testing.T) {
	row := func(ttl string) string {
		return fmt.Sprintf(`{"PK":{"S":"PIPELINE#orders"},"SK":{"S":"SENSOR#rows"},"count":{"N":"7"},"ttl":{"N":"%s"}}`, ttl)
	}
	got := read(t, row("1772582400"))
	if got.Refused != "" || !got.Sensor.Write.Reading.ExpiresAt.Equal(time.Unix(1772582400, 0)) {
		t.Errorf("%+v, refused: %q", got.Sensor, got.Refused)
	}
	for _, ttl := range []string{"1772582400000", "9223372036854775807"} { // a reading with it could be written, but never read back
		got := read(t, row(ttl))
		if !strings.Contains(got.Refused, "ttl is "+ttl) || !strings.Contains(got.Refused, "seconds") {
			t.Errorf("ttl %s: %+v, refused: %q", ttl, got.Sensor, got.Refused)
		}
	}
}
