package lambda

import "github.com/interlock-go/interlock/internal/job/awsapi"

// serviceErrors are the verdicts on the errors of Invoke. Lambda also uses HTTP 5xx for errors that
// prevent the start of the function: its configuration, or a temporary shortage.
var serviceErrors = awsapi.Errors{
	"CodeArtifactUserDeletedException":         awsapi.RefusedTransient, // Lambda provisions another one
	"CodeArtifactUserFailedException":          awsapi.RefusedPermanent,
	"CodeArtifactUserPendingException":         awsapi.RefusedTransient,
	"DurableExecutionAlreadyStartedException":  awsapi.Open, // something was started under that name
	"EC2AccessDeniedException":                 awsapi.RefusedPermanent,
	"EC2ThrottledException":                    awsapi.RefusedTransient,
	"EC2UnexpectedException":                   awsapi.RefusedTransient,
	"EFSIOException":                           awsapi.Open, // reading or writing failed while the function ran
	"EFSMountConnectivityException":            awsapi.RefusedTransient,
	"EFSMountFailureException":                 awsapi.RefusedPermanent,
	"EFSMountTimeoutException":                 awsapi.RefusedTransient,
	"ENILimitReachedException":                 awsapi.RefusedTransient,
	"ENINotReadyException":                     awsapi.RefusedTransient,
	"InvalidParameterValueException":           awsapi.RefusedPermanent,
	"InvalidRequestContentException":           awsapi.RefusedPermanent,
	"InvalidRuntimeException":                  awsapi.RefusedPermanent,
	"InvalidSecurityGroupIDException":          awsapi.RefusedPermanent,
	"InvalidSubnetIDException":                 awsapi.RefusedPermanent,
	"InvalidZipFileException":                  awsapi.RefusedPermanent,
	"KMSAccessDeniedException":                 awsapi.RefusedPermanent,
	"KMSDisabledException":                     awsapi.RefusedPermanent,
	"KMSInvalidStateException":                 awsapi.RefusedTransient,
	"KMSNotFoundException":                     awsapi.RefusedPermanent,
	"ModeNotSupportedException":                awsapi.RefusedPermanent,
	"NoPublishedVersionException":              awsapi.RefusedPermanent,
	"RecursiveInvocationException":             awsapi.RefusedPermanent,
	"RequestTooLargeException":                 awsapi.RefusedPermanent,
	"ResourceConflictException":                awsapi.RefusedTransient, // the function is being created or updated
	"ResourceNotFoundException":                awsapi.RefusedPermanent,
	"ResourceNotReadyException":                awsapi.RefusedTransient,
	"S3FilesMountConnectivityException":        awsapi.RefusedTransient,
	"S3FilesMountFailureException":             awsapi.RefusedPermanent,
	"S3FilesMountTimeoutException":             awsapi.RefusedTransient,
	"SerializedRequestEntityTooLargeException": awsapi.RefusedPermanent,
	"ServiceException":                         awsapi.Open,
	"ServiceQuotaExceededException":            awsapi.RefusedTransient,
	"SnapStartException":                       awsapi.RefusedPermanent, // the hook after the restore failed, before the handler
	"SnapStartNotReadyException":               awsapi.RefusedTransient,
	"SnapStartRegenerationFailureException":    awsapi.RefusedTransient,
	"SnapStartTimeoutException":                awsapi.RefusedTransient,
	"SubnetIPAddressLimitReachedException":     awsapi.RefusedTransient,
	"TooManyRequestsException":                 awsapi.RefusedTransient,
	"UnsupportedMediaTypeException":            awsapi.RefusedPermanent,
}
