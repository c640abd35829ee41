package databricks

import (
	"encoding/json"
	"errors"
)

// DecodeFrom decodes a run while it arrives. The API cannot omit a run's tasks, of which there may be a thousand with
// all of their settings, so only the first failed one is kept.
func (r *jobRun) DecodeFrom(d *json.Decoder) error {
	return eachField(d, func(name string) error {
		switch name {
		case "run_id":
			return d.Decode(&r.ID)
		case "state":
			return d.Decode(&r.State)
		case "status":
			return d.Decode(&r.Status)
		case "tasks":
			return r.decodeTasks(d)
		default:
			return d.Decode(new(json.RawMessage))
		}
	})
}

func (r *jobRun) decodeTasks(d *json.Decoder) error {
	switch begin, err := d.Token(); {
	case err != nil || begin == nil:
		return err
	case begin != json.Delim('['):
		return errors.New("tasks is not a list")
	}
	for d.More() {
		var task jobRun
		if err := d.Decode(&task); err != nil {
			return err
		}
		if r.failed == nil && task.failedByItself() {
			r.failed = &task
		}
	}
	_, err := d.Token()
	return err
}

// eachField reads an object and calls read for the value of each field.
func eachField(d *json.Decoder, read func(name string) error) error {
	begin, err := d.Token()
	if err != nil {
		return err
	}
	if begin != json.Delim('{') {
		return errors.New("not an object")
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		if err := read(name.(string)); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}
