package console_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"

	"github.com/solotick/solotick/console"
	"github.com/solotick/solotick/console/internal/view"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
)

var update = flag.Bool("update", false, "write the schemas of the pages to openapi.yaml")

const (
	openAPIFile = "openapi.yaml"
	madeBelow   = "    # What follows is made from the structs of the pages: go test ./console -run OpenAPI -update\n"
)

// pages are the views that the API answers with.
var pages = []any{
	view.JobsPage{}, view.JobPage{}, view.TickPage{}, view.WhyPage{}, view.TimelinePage{}, view.LoadPage{}, view.FleetPage{}, view.LocksPage{}, view.AuditPage{},
}

func TestOpenAPIHasTheSchemasOfThePages(t *testing.T) {
	file, err := os.ReadFile(openAPIFile)
	require.NoError(t, err)
	written, _, ok := strings.Cut(string(file), madeBelow)
	require.True(t, ok)
	m := schemas{}
	for _, page := range pages {
		m.of(reflect.TypeOf(page))
	}
	var b strings.Builder
	b.WriteString(written + madeBelow)
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		text, err := json.Marshal(m[name])
		require.NoError(t, err)
		fmt.Fprintf(&b, "    %s: %s\n", name, text)
	}
	if *update {
		require.NoError(t, os.WriteFile(openAPIFile, []byte(b.String()), 0o600))
		return
	}
	require.Equal(t, b.String(), string(file), "go test ./console -run OpenAPI -update writes it")
}

// schemas has the schema of each struct, by name.
type schemas map[string]any

func ref(name string) map[string]any { return map[string]any{"$ref": "#/components/schemas/" + name} }

// of returns the schema of a type, as encoding/json writes it.
func (m schemas) of(t reflect.Type) any {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return ref("Time")
	case t == reflect.TypeFor[time.Duration]():
		return map[string]any{"type": "integer"}
	case t.Kind() == reflect.Struct && t.PkgPath() == reflect.TypeFor[fleet.Entry]().PkgPath():
		return ref(t.Name()) // of package fleet; its schema is written by hand
	}
	switch t.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": m.of(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": m.of(t.Elem())}
	case reflect.Pointer:
		return map[string]any{"anyOf": []any{m.of(t.Elem()), map[string]any{"type": "null"}}}
	case reflect.Struct:
		name := t.Name()
		if !strings.HasSuffix(name, "Page") {
			name = "View" + name // package fleet may have the same
		}
		if _, ok := m[name]; !ok {
			m[name] = nil // it may have itself in it
			properties, required := map[string]any{}, []string{}
			m.fields(t, properties, &required)
			slices.Sort(required)
			m[name] = map[string]any{"type": "object", "required": required, "properties": properties}
		}
		return ref(name)
	default:
		panic("no schema for " + t.String())
	}
}

func (m schemas) fields(t reflect.Type, properties map[string]any, required *[]string) {
	for f := range t.Fields() {
		tag, option, _ := strings.Cut(cmp.Or(f.Tag.Get("api"), f.Tag.Get("json")), ",")
		switch {
		case tag == "-" || !f.IsExported() && !f.Anonymous:
		case f.Anonymous && tag == "":
			m.fields(f.Type, properties, required)
		default:
			if _, again := properties[tag]; again { // the outer one is written
				continue
			}
			properties[tag] = m.of(f.Type)
			if option == "" {
				*required = append(*required, tag)
			}
		}
	}
}

// description is openapi.yaml.
type description struct {
	Paths map[string]map[string]struct {
		Parameters []struct {
			Name string `yaml:"name"`
			In   string `yaml:"in"`
			Ref  string `yaml:"$ref"`
		} `yaml:"parameters"`
		RequestBody struct {
			Content map[string]struct {
				Schema map[string]string `yaml:"schema"`
			} `yaml:"content"`
		} `yaml:"requestBody"`
		Responses map[string]struct {
			Content map[string]struct {
				Schema map[string]string `yaml:"schema"`
			} `yaml:"content"`
		} `yaml:"responses"`
	} `yaml:"paths"`
	Components struct {
		Schemas map[string]any `yaml:"schemas"`
	} `yaml:"components"`
}

func described(t *testing.T) description {
	file, err := os.ReadFile(openAPIFile)
	require.NoError(t, err)
	var d description
	require.NoError(t, yaml.Unmarshal(file, &d))
	return d
}

var references = regexp.MustCompile(`#/components/schemas/(\w+)`)

// schema returns a schema of the description, with those that it refers to. It allows no fields
// that are not described.
func (d description) schema(t *testing.T, reference string) *jsonschema.Resolved {
	defs := map[string]any{}
	var add func(text string)
	add = func(text string) {
		for _, found := range references.FindAllStringSubmatch(text, -1) {
			if name := found[1]; defs[name] == nil {
				defs[name] = strict(d.Components.Schemas[name])
				text, err := json.Marshal(defs[name])
				require.NoError(t, err)
				add(string(text))
			}
		}
	}
	add(reference)
	text, err := json.Marshal(map[string]any{"$ref": reference, "$defs": defs})
	require.NoError(t, err)
	var s jsonschema.Schema
	require.NoError(t, json.Unmarshal([]byte(strings.ReplaceAll(string(text), "#/components/schemas/", "#/$defs/")), &s))
	resolved, err := s.Resolve(nil)
	require.NoError(t, err)
	return resolved
}

// strict makes fields that a schema does not have faults.
func strict(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, item := range v {
			out[k] = strict(item)
		}
		if _, ok := v["properties"].(map[string]any); ok && v["type"] == "object" {
			out["additionalProperties"] = false
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = strict(item)
		}
		return out
	}
	return v
}

func TestOpenAPIDescribesEveryRoute(t *testing.T) {
	d := described(t)
	described := map[string]bool{}
	for path, methods := range d.Paths {
		for method := range methods {
			described[strings.ToUpper(method)+" /api/v1"+path] = true
		}
	}
	for _, route := range console.Routes() {
		if strings.HasPrefix(route.Pattern, "/api/v1/") {
			require.True(t, described[route.Method+" "+route.Pattern], "%s %s is not described", route.Method, route.Pattern)
			delete(described, route.Method+" "+route.Pattern)
		}
	}
	require.Empty(t, described, "described, and no route")
}

func TestEveryAnswerIsAsOpenAPIDescribes(t *testing.T) {
	d := described(t)
	s := newSite(t, withTokens(), console.WithExamination(new(examiner).examine))
	s.store.fill(t)
	s.store.settle(t, "old", "succeeded") // which nobody serves
	a, err := s.store.ClaimLock(t.Context(), protocol.LockClaim{Name: "shop", Holder: "till-1", Request: "r", TTL: time.Minute, Permits: 1, Limit: 1})
	require.NoError(t, err)
	_, err = s.store.ClaimLock(t.Context(), protocol.LockClaim{Name: "shop", Holder: "till-2", Request: "r", TTL: time.Minute, Permits: 1, Limit: 1, WaiterTTL: time.Minute})
	require.NoError(t, err)
	bodies := map[string]string{
		"Reason": `{"reason": "a test"}`, "TriggerRequest": `{"reason": "a test", "key": "k", "window_ms": 1000}`, "CancelRequest": `{}`,
		"Schedule":           `{"cron": "0 7 * * 1-5", "timezone": "Asia/Shanghai", "payload": "7", "reason": "a test"}`,
		"BulkTriggerRequest": `{"jobs": ["sync"], "request": "q1"}`,
		"BulkRequest":        `{"jobs": ["sync", "unknown"], "reason": "a test"}`, "ReleaseRequest": fmt.Sprintf(`{"name": "shop", "token": %d}`, a.Token),
	}
	s.store.tenants(t, "acme")
	problem := d.schema(t, "#/components/schemas/Problem")
	for _, route := range console.Routes() {
		path, ok := strings.CutPrefix(route.Pattern, "/api/v1")
		if !ok || route.Stream || path == "/openapi.yaml" {
			continue
		}
		operation := d.Paths[path][strings.ToLower(route.Method)]
		reference := operation.Responses["200"].Content["application/json"].Schema["$ref"]
		require.NotEmpty(t, reference, path)
		body := ""
		if content, ok := operation.RequestBody.Content["application/json"]; ok {
			body = bodies[strings.TrimPrefix(content.Schema["$ref"], "#/components/schemas/")]
			require.NotEmpty(t, body, path)
			var v any
			require.NoError(t, json.Unmarshal([]byte(body), &v))
			require.NoError(t, d.schema(t, content.Schema["$ref"]).Validate(v), path)
		}
		job := "report"
		if strings.Contains(path, "forget") {
			job = "old"
		} else if strings.Contains(path, "schedules") {
			job = "tenants"
		}
		target := strings.NewReplacer("{job}", job, "{key}", "acme", "{tick}", "1700000000000").Replace(route.Pattern)
		r := s.do(request(route.Method, target, body, bearer(operateSecret), asJSON))
		answer := s.decode(r)
		require.Equal(t, http.StatusOK, r.StatusCode, "%s: %v", target, answer)
		require.NoError(t, d.schema(t, reference).Validate(answer), target)

		wrong := s.do(request(route.Method, target+"?colour=red", `{"colour": "red"}`, bearer(operateSecret), asJSON))
		require.Equal(t, http.StatusBadRequest, wrong.StatusCode, target)
		require.Equal(t, "application/problem+json", wrong.Header.Get("Content-Type"))
		require.NoError(t, problem.Validate(s.decode(wrong)), target)
	}
}

func TestEveryParameterIsDescribed(t *testing.T) {
	d := described(t)
	s := newSite(t, console.WithExamination(new(examiner).examine))
	s.store.fill(t)
	for _, route := range console.Routes() {
		path, ok := strings.CutPrefix(route.Pattern, "/api/v1")
		if !ok || route.Method != http.MethodGet || path == "/openapi.yaml" {
			continue
		}
		known := map[string]bool{}
		for _, p := range d.Paths[path]["get"].Parameters {
			if p.In == "query" {
				known[p.Name] = true
			}
		}
		target := strings.NewReplacer("{job}", "report", "{key}", "acme", "{tick}", "1700000000000").Replace(route.Pattern)
		_, list, _ := strings.Cut(text(t, s.get(target+"?colour=red")), "there are: ")
		list, _, _ = strings.Cut(list, `"`)
		for name := range strings.SplitSeq(list, ", ") {
			if name = strings.TrimSpace(name); name != "" && name != "tick" {
				require.True(t, known[name], "%s: %s is not described", path, name)
			}
			delete(known, name)
		}
		delete(known, "tick")
		require.Empty(t, known, "%s: described, and not known", path)
	}
}

func TestChangesAreAsOpenAPIDescribes(t *testing.T) {
	s := newSite(t)
	s.warm()
	l := listen(t, serve(t, s)+"/api/v1/events")
	l.next()
	s.store.fill(t)
	var v any
	require.NoError(t, json.Unmarshal([]byte(l.until(about("report")).data), &v))
	require.NoError(t, described(t).schema(t, "#/components/schemas/Change").Validate(v))
}

func TestOpenAPIIsServed(t *testing.T) {
	r := newSite(t).get("/api/v1/openapi.yaml")
	require.Equal(t, "application/yaml", r.Header.Get("Content-Type"))
	file, err := os.ReadFile(openAPIFile)
	require.NoError(t, err)
	require.Equal(t, string(file), text(t, r))
}
