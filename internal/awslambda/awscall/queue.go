package awscall

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// maxDelay is the longest delay that SQS supports.
const maxDelay = 15 * time.Minute

// Queue is one SQS queue.
type Queue struct {
	client *sqs.Client
	url    string
}

// NewQueue returns the queue with that URL.
func NewQueue(c aws.Config, url string) *Queue { return &Queue{client: sqs.NewFromConfig(c), url: url} }

// Later sends a message that becomes visible after the given time, at most 15 minutes. Its receive
// count starts anew.
func (q *Queue) Later(ctx context.Context, body string, after time.Duration) error {
	delay := int32((min(after, maxDelay) + time.Second - 1) / time.Second)
	if _, err := q.client.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: &body, DelaySeconds: delay}); err != nil {
		return fmt.Errorf("put a message back into queue %s: %w", q.url, err)
	}
	return nil
}
