package main

import (
	"bytes"
	"encoding/json"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheBillListsWhatIsLinked(t *testing.T) {
	info := &debug.BuildInfo{
		GoVersion: "go1.26.8",
		Main:      debug.Module{Path: "example.com/program"},
		Deps: []*debug.Module{
			{Path: "example.com/one", Version: "v1.2.3", Sum: "h1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="},
			{Path: "example.com/two", Version: "v2.0.0", Replace: &debug.Module{Path: "example.com/fork", Version: "v2.0.1"}},
			{Path: "example.com/program/part", Version: "v0.0.1", Replace: &debug.Module{Path: "../", Version: "(devel)"}},
		},
		Settings: []debug.BuildSetting{{Key: "GOARCH", Value: "arm64"}, {Key: "vcs.time", Value: "now"}},
	}
	var out bytes.Buffer
	require.NoError(t, write(&out, info, "v0.1.0"))
	var b bill
	require.NoError(t, json.Unmarshal(out.Bytes(), &b))
	require.Equal(t, "pkg:golang/example.com/program@v0.1.0", b.Metadata.Component.PURL)
	require.Equal(t, []property{{"go:build:GOARCH", "arm64"}}, b.Metadata.Component.Properties)
	require.Equal(t, []string{"pkg:golang/std@1.26.8", "pkg:golang/example.com/one@v1.2.3", "pkg:golang/example.com/fork@v2.0.1",
		"pkg:golang/example.com/program/part@v0.1.0"}, b.Dependencies[0].DependsOn)
	require.Equal(t, []hash{{"SHA-256", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"}}, b.Components[1].Hashes)

	info.Deps[0].Sum = "h1:!"
	require.ErrorContains(t, write(&out, info, "v0.1.0"), `example.com/one: "h1:!" is no hash`)
}
