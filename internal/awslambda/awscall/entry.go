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

// Put makes an entry that is gone once it has been carried out. One of that name is the same one: that, and no token of the request,
// makes a second call harmless, so that an entry which was taken back can be made again.
func (e *Entries) Put(ctx context.Context, name string, at time.Time, target, input string) error {
	_, err := e.client.CreateSchedule(ctx, &scheduler.CreateScheduleInput{
		Name: &name, GroupName: &e.group,
		ScheduleExpression:         aws.String("at(" + at.UTC().Format("2006-01-02T15:04:05") + ")"),
		ScheduleExpressionTimezone: aws.String("UTC"),
		FlexibleTimeWindow:         &types.FlexibleTimeWindow{Mode: types.FlexibleTimeWindowModeOff},
		ActionAfterCompletion:      types.ActionAfterCompletionDelete,
		Target: &types.Target{
			Arn: &target, RoleArn: &e.role, Input: &input,
			RetryPolicy: &types.RetryPolicy{MaximumRetryAttempts: aws.Int32(tries), MaximumEventAgeInSeconds: aws.Int32(int32(patience.Seconds()))},
		},
	})
	var exists *types.ConflictException
	if errors.As(err, &exists) {
		return nil
	}
	return err
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
