package stepfunction

// ServiceErrors are the type's verdicts on the errors of its service.
var ServiceErrors = serviceErrors
