package sensor_test

import (
	"testing"

	"github.com/interlock-go/interlock/internal/sensor"
)

func TestNumbersBeyond64BitsKeepTheirDigits(t *testing.T) {
	for f, want := range map[float64]string{
		1 << 63: "9223372036854775808", -(1 << 64): "-18446744073709551616", 1e20: "100000000000000000000", 1e21: "1e+21",
		0.5: "0.5", 1e-7: "1e-07", 1 << 62: "4611686018427388000",
	} {
		if got := string(sensor.AppendFloat(nil, f)); got != want {
			t.Errorf("%g: got %s, want %s", f, got, want)
		}
	}
	for v, want := range map[any]string{float64(1 << 63): "9223372036854775808", 1e21: "1e+21", 0.5: "0.5", int64(7): "7"} {
		if got := sensor.Literal(v); got != want {
			t.Errorf("%v: got %s, want %s", v, got, want)
		}
	}
}
