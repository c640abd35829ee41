package awscall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
)

// tokenField is the field that holds the token in a secret that is a JSON object.
const tokenField = "token"

// Token reads a token from Secrets Manager: the secret's whole text, or the field "token" of a JSON
// object. It is never logged, and no error contains it.
func Token(ctx context.Context, c aws.Config, arn string) (string, error) {
	out, err := secretsmanager.NewFromConfig(c).GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &arn})
	if err != nil {
		return "", fmt.Errorf("read secret %s: %w", arn, err)
	}
	token, err := tokenIn(strings.TrimSpace(aws.ToString(out.SecretString)))
	if err != nil {
		return "", fmt.Errorf("read secret %s: %w", arn, err)
	}
	return token, nil
}

func tokenIn(text string) (string, error) {
	if strings.HasPrefix(text, "{") {
		var fields map[string]any
		if json.Unmarshal([]byte(text), &fields) != nil {
			return "", errors.New("it begins like a JSON object but is not valid JSON")
		}
		token, _ := fields[tokenField].(string)
		text = token
	}
	if text == "" {
		return "", fmt.Errorf("it holds no token: store the token itself, or an object with the field %q", tokenField)
	}
	return text, nil
}
