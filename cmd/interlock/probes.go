package main

import (
	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/evaluator"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/awsapi"
	"github.com/interlock-go/interlock/internal/settings"
)

// newEvaluator is what asks the probes of a server with that file.
func newEvaluator(f settings.File, getenv func(string) string) (*evaluator.Evaluator, error) {
	guard, err := egress.New(f.Egress.Allow)
	if err != nil {
		return nil, err
	}
	secrets, err := newSecrets(f, guard, getenv)
	if err != nil {
		return nil, err
	}
	policy, err := programs(f)
	if err != nil {
		return nil, err
	}
	return evaluator.New(evaluator.Options{Guard: guard, Secrets: secrets, Getenv: getenv, Programs: policy}), nil
}

// newSecrets allows what a server's file lets pipelines read.
func newSecrets(f settings.File, guard *egress.Guard, getenv func(string) string) (*job.Secrets, error) {
	s, err := job.NewSecrets(f.Secrets.Env, f.Secrets.Files, func(name string) (string, bool) {
		value := getenv(name)
		return value, value != ""
	})
	if err != nil {
		return nil, err
	}
	stored := map[job.SecretKind][]string{job.ManagedSecret: f.Secrets.SecretsManager, job.Parameter: f.Secrets.SSM}
	return s.From(stored, awsapi.NewSecrets(awsapi.New(guard)).Read), nil
}
