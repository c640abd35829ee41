package awsapi

import "net/http"

// Verdict is what an error implies about its request.
type Verdict string

// The verdicts. An error that is in no table is Open: AWS answers HTTP 400 for nearly everything,
// even for requests that it began to carry out, so the status proves nothing.
const (
	Open             Verdict = "may have been carried out"
	RefusedTransient Verdict = "not carried out; the same request may succeed later"
	RefusedPermanent Verdict = "not carried out; the same request would fail again"
)

// Errors are the verdicts on a service's errors, by AWS error code.
type Errors map[string]Verdict

// verdict returns the verdict on an answer. code is "" if the answer names no AWS error, such as a
// proxy's.
func (e Errors) verdict(code string, status int) Verdict {
	if v, ok := e[code]; ok {
		return v
	}
	if v, ok := common[code]; ok {
		return v
	}
	switch {
	case status == http.StatusTooEarly || status == http.StatusTooManyRequests:
		return RefusedTransient
	case code == "" && status >= 300 && status < 500 && status != http.StatusRequestTimeout:
		return RefusedPermanent
	default:
		return Open
	}
}

// common are the errors that every AWS service returns before it begins an operation.
var common = Errors{
	"AccessDenied":                        RefusedPermanent,
	"AccessDeniedException":               RefusedPermanent,
	"IncompleteSignature":                 RefusedPermanent,
	"IncompleteSignatureException":        RefusedPermanent,
	"InvalidClientTokenId":                RefusedPermanent,
	"InvalidSignatureException":           RefusedPermanent,
	"MissingAuthenticationToken":          RefusedPermanent,
	"MissingAuthenticationTokenException": RefusedPermanent,
	"NotAuthorized":                       RefusedPermanent,
	"OptInRequired":                       RefusedPermanent,
	"SignatureDoesNotMatch":               RefusedPermanent,
	"UnauthorizedException":               RefusedPermanent,
	"UnrecognizedClientException":         RefusedPermanent,

	"ExpiredToken":          RefusedTransient,
	"ExpiredTokenException": RefusedTransient,
	"RequestExpired":        RefusedTransient,
	"RequestInTheFuture":    RefusedTransient,
	"RequestTimeTooSkewed":  RefusedTransient,

	"InvalidAction":                  RefusedPermanent,
	"InvalidParameterCombination":    RefusedPermanent,
	"InvalidParameterValue":          RefusedPermanent,
	"MalformedHttpRequestException":  RefusedPermanent,
	"MissingParameter":               RefusedPermanent,
	"RequestEntityTooLarge":          RefusedPermanent,
	"RequestEntityTooLargeException": RefusedPermanent,
	"ResourceNotFoundException":      RefusedPermanent,
	"SerializationException":         RefusedPermanent,
	"UnknownOperationException":      RefusedPermanent,
	"ValidationError":                RefusedPermanent,
	"ValidationException":            RefusedPermanent,

	"LimitExceededException":        RefusedTransient,
	"RequestLimitExceeded":          RefusedTransient,
	"RequestThrottled":              RefusedTransient,
	"RequestThrottledException":     RefusedTransient,
	"ServiceQuotaExceededException": RefusedTransient,
	"SlowDown":                      RefusedTransient,
	"ThrottledException":            RefusedTransient,
	"Throttling":                    RefusedTransient,
	"ThrottlingException":           RefusedTransient,
	"TooManyRequestsException":      RefusedTransient,
}
