package config

import (
	"encoding/json"
	"maps"
)

// schema is a JSON schema, or a part of one.
type schema = map[string]any

// Schema returns a JSON schema of the configuration file, for editors. It accepts whatever [Parse]
// accepts, but for keys without a value and merge keys, which editors resolve themselves. Parse
// checks much more.
func Schema() []byte {
	s := schemaOf(topKeys)
	s["$schema"] = "http://json-schema.org/draft-07/schema#"
	s["title"] = "Solotick worker configuration"
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic(err) // maps, lists and strings
	}
	return append(text, '\n')
}

// schemaOf is the schema of a mapping with these keys.
func schemaOf[S any](keys []key[S]) schema {
	properties, required := schema{}, []string{}
	for _, k := range keys {
		if k.refused {
			continue
		}
		property := schema{"description": k.about}
		maps.Copy(property, k.schema)
		properties[k.name] = property
		if k.required != "" {
			required = append(required, k.name)
		}
	}
	s := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// reference is the schema of a string with a reference to the environment, which can stand for any
// single value.
var reference = schema{"type": "string", "pattern": `\$\{`}

// textSchema is that of a string, which may be written as a number or boolean. An empty pattern is
// none.
func textSchema(pattern string) schema {
	s := schema{"type": []string{"string", "number", "boolean"}}
	if pattern != "" {
		s["pattern"] = pattern + `|\$\{`
	}
	return s
}

func enumSchema[T ~string](options []T) schema {
	return schema{"anyOf": []schema{{"enum": options}, reference}}
}

func durationSchema() schema {
	pattern := `^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)`
	return schema{"anyOf": []schema{{"type": "string", "pattern": pattern}, {"enum": []any{0, "0"}}, reference}}
}

func numberSchema(least, most int64) schema {
	s := schema{"type": "integer", "minimum": least}
	if most > 0 {
		s["maximum"] = most
	}
	return schema{"anyOf": []schema{s, reference}}
}

var booleanSchema = schema{"anyOf": []schema{{"type": "boolean"}, reference}}

func listSchema(item schema) schema { return schema{"type": "array", "items": item} }
