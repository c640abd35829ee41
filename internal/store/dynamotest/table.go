package dynamotest

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/interlock-go/interlock/internal/store/dynamo"
)

// Creation is the request that makes a table in an environment.
func Creation(t dynamo.Table, environment string) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{
		TableName: aws.String(dynamo.TableName(environment, t.Name)), BillingMode: types.BillingModePayPerRequest,
		KeySchema: keySchema("PK", "SK"),
	}
	define(in, "PK", types.ScalarAttributeTypeS)
	define(in, "SK", types.ScalarAttributeTypeS)
	for _, x := range t.Indexes {
		kind, projection := types.ScalarAttributeTypeS, &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}
		if x.Number {
			kind = types.ScalarAttributeTypeN
		}
		if x.All {
			projection.ProjectionType = types.ProjectionTypeAll
		}
		define(in, x.Hash, types.ScalarAttributeTypeS)
		define(in, x.Range, kind)
		if x.Local {
			in.LocalSecondaryIndexes = append(in.LocalSecondaryIndexes, types.LocalSecondaryIndex{
				IndexName: aws.String(x.Name), KeySchema: keySchema(x.Hash, x.Range), Projection: projection,
			})
			continue
		}
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: aws.String(x.Name), KeySchema: keySchema(x.Hash, x.Range), Projection: projection,
		})
	}
	if t.Stream {
		in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewImage}
	}
	return in
}

func keySchema(hash, sort string) []types.KeySchemaElement {
	return []types.KeySchemaElement{
		{AttributeName: aws.String(hash), KeyType: types.KeyTypeHash}, {AttributeName: aws.String(sort), KeyType: types.KeyTypeRange},
	}
}

// define adds an attribute that is a key of something, once.
func define(in *dynamodb.CreateTableInput, name string, kind types.ScalarAttributeType) {
	known := slices.ContainsFunc(in.AttributeDefinitions, func(d types.AttributeDefinition) bool { return *d.AttributeName == name })
	if !known {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: kind})
	}
}
