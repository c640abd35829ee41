package awscall

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"
)

// Entries manages the one-time schedules of one EventBridge Scheduler group.
type Entries struct {
	client            *scheduler.Client
	group, role, dead string
}

// NewEntries returns the Entries of a group. Scheduler assumes role to call their targets, and sends
// calls that it cannot deliver to the queue dead.
func NewEntries(c aws.Config, group, role, dead string) *Entries {
	return &Entries{client: scheduler.NewFromConfig(c), group: group, role: role, dead: dead}
}

// tries and patience are how often, and for how long, Scheduler retries a call to a function. After
// that the watchdog carries out the task.
const (
	tries    = 5
	patience = 10 * time.Minute
)

// Put creates a schedule that deletes itself after it has run. The name alone makes a second call
// harmless; the request carries no client token, so that a deleted schedule can be created again.
// Scheduler removes a schedule some time after DeleteSchedule has returned, and rejects the name
// until then. So if the name exists, Put updates the schedule; that fails while the schedule is
// being deleted, and the caller retries.
func (e *Entries) Put(ctx context.Context, name string, at time.Time, target, input string) error {
	in := e.entry(name, at, target, input)
	_, err := e.client.CreateSchedule(ctx, &in)
	var exists *types.ConflictException
	if !errors.As(err, &exists) {
		return err
	}
	update := scheduler.UpdateScheduleInput{
		Name: in.Name, GroupName: in.GroupName, ScheduleExpression: in.ScheduleExpression, ScheduleExpressionTimezone: in.ScheduleExpressionTimezone,
		FlexibleTimeWindow: in.FlexibleTimeWindow, ActionAfterCompletion: in.ActionAfterCompletion, Target: in.Target,
	}
	_, err = e.client.UpdateSchedule(ctx, &update)
	var gone *types.ResourceNotFoundException
	if !errors.As(err, &gone) {
		return err
	}
	_, err = e.client.CreateSchedule(ctx, &in)
	return err
}

// entry builds the request for Scheduler.
func (e *Entries) entry(name string, at time.Time, target, input string) scheduler.CreateScheduleInput {
	return scheduler.CreateScheduleInput{
		Name: &name, GroupName: &e.group,
		ScheduleExpression:         aws.String("at(" + at.UTC().Format("2006-01-02T15:04:05") + ")"),
		ScheduleExpressionTimezone: aws.String("UTC"),
		FlexibleTimeWindow:         &types.FlexibleTimeWindow{Mode: types.FlexibleTimeWindowModeOff},
		ActionAfterCompletion:      types.ActionAfterCompletionDelete,
		Target: &types.Target{
			Arn: &target, RoleArn: &e.role, Input: &input,
			DeadLetterConfig: &types.DeadLetterConfig{Arn: &e.dead},
			RetryPolicy:      &types.RetryPolicy{MaximumRetryAttempts: aws.Int32(tries), MaximumEventAgeInSeconds: aws.Int32(int32(patience.Seconds()))},
		},
	}
}

// Delete deletes a schedule. It returns nil if there is none.
func (e *Entries) Delete(ctx context.Context, name string) error {
	_, err := e.client.DeleteSchedule(ctx, &scheduler.DeleteScheduleInput{Name: &name, GroupName: &e.group})
	var gone *types.ResourceNotFoundException
	if errors.As(err, &gone) {
		return nil
	}
	return err
}
