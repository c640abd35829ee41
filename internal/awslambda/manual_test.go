package awslambda_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/interlock-go/interlock/internal/awslambda/awslambdatest"
	"github.com/interlock-go/interlock/internal/store/dynamo"
	"github.com/interlock-go/interlock/internal/store/dynamotest"
)

// rowsIn returns all rows of a table.
func rowsIn(t *testing.T, c aws.Config, table string) []map[string]types.AttributeValue {
	t.Helper()
	var all []map[string]types.AttributeValue
	for pages := dynamodb.NewScanPaginator(dynamodb.NewFromConfig(c), &dynamodb.ScanInput{TableName: &table}); pages.HasMorePages(); {
		page, err := pages.NextPage(t.Context())
		must(t, err)
		all = append(all, page.Items...)
	}
	return all
}

// lineOf returns the line of a table in the manual that begins with the given cells.
func lineOf(manual, begins string) string {
	_, rest, _ := strings.Cut(manual, "\n| "+begins)
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// The manual documents every attribute of the tables and every index.
func TestManualNamesEveryAttributeAndEveryList(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "DYNAMODB.md"))
	must(t, err)
	manual := string(text)
	environment, c := dynamotest.Streaming(t)
	history(t, awslambdatest.Options{Tables: func(now func() time.Time) awslambdatest.Tables {
		return awslambdatest.NewLocal(t, environment, c, now)
	}})
	missing := map[string]bool{}
	for _, table := range dynamo.Tables() {
		rows := rowsIn(t, c, dynamo.TableName(environment, table.Name))
		if len(rows) == 0 && table.Name != dynamo.Rerun {
			t.Errorf("table %s is empty", table.Name)
		}
		for _, row := range rows {
			for name := range row {
				if !strings.Contains(manual, "`"+name+"`") {
					missing["attribute "+name] = true
				}
			}
			for attribute, index := range map[string]string{"list": "control | `listed`", "pending": "control | `pending`", "aging": "all | `aging`"} {
				v, is := row[attribute].(*types.AttributeValueMemberS)
				if !is {
					continue
				}
				name := "`" + v.Value + "`"
				if list, _, several := strings.Cut(v.Value, ":"); several {
					name = "`" + list + ":{" // such as task/due:{kind}
				}
				if !strings.Contains(lineOf(manual, index), name) {
					missing["list "+v.Value+" of "+index] = true
				}
			}
		}
	}
	for what := range missing {
		t.Errorf("docs/DYNAMODB.md does not mention %s", what)
	}
}
