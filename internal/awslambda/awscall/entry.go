package awscall

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"
)

// Entries keeps the one-time entries of one group of Scheduler.
type Entries struct {
	client      *scheduler.Client
	group, role string
}

// NewEntries keeps entries in a group. Scheduler calls their targets in that role.
func NewEntries(c aws.Config, group, role string) *Entries {
	return &Entries{client: scheduler.NewFromConfig(c), group: group, role: role}
}

// tries and patience are how often, and for how long, Scheduler calls a function that does not take the call. Beyond that
// the watchdog finds the task.
const (
	tries    = 5
	patience = 10 * time.Minute
)

// Put makes an entry that is gone once it has been carried out. One of that name is the same one: that, and no token of the
// request, makes a second call harmless, so that an entry which was taken back can be made again. Scheduler removes an entry a
// while after DeleteSchedule has answered, and refuses the name until then; so an entry that is said to be there is updated,
// which fails where it is being removed, and the caller calls again.
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

// entry is what Scheduler is asked for.
func (e *Entries) entry(name string, at time.Time, target, input string) scheduler.CreateScheduleInput {
	return scheduler.CreateScheduleInput{
		Name: &name, GroupName: &e.group,
		ScheduleExpression:         aws.String("at(" + at.UTC().Format("2006-01-02T15:04:05") + ")"),
		ScheduleExpressionTimezone: aws.String("UTC"),
		FlexibleTimeWindow:         &types.FlexibleTimeWindow{Mode: types.FlexibleTimeWindowModeOff},
		ActionAfterCompletion:      types.ActionAfterCompletionDelete,
		Target: &types.Target{
			Arn: &target, RoleArn: &e.role, Input: &input,
			RetryPolicy: &types.RetryPolicy{MaximumRetryAttempts: aws.Int32(tries), MaximumEventAgeInSeconds: aws.Int32(int32(patience.Seconds()))},
		},
	}
}

// Delete takes an entry back. One that is not there is fine.
func (e *Entries) Delete(ctx context.Context, name string) error {
	_, err := e.client.DeleteSchedule(ctx, &scheduler.DeleteScheduleInput{Name: &name, GroupName: &e.group})
	var gone *types.ResourceNotFoundException
	if errors.As(err, &gone) {
		return nil
	}
	return err
}
