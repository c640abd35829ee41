package pipeline

import "github.com/interlock-go/interlock/internal/document"

// JobConfig is the decoded job.config of one job type. Its tags say what package document checks while decoding;
// Check adds what tags cannot say.
type JobConfig interface {
	Check() []document.Finding
}

// JobKind is a job type as pipeline files name it. The nine live beside their adapters; internal/job/all lists them.
type JobKind struct {
	Name      string
	NewConfig func() JobConfig
}

// awsLimited is a job config with limits of its own on the AWS platform.
type awsLimited interface {
	AWSFindings() []document.Finding
}
