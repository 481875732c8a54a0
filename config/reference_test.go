package config

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
)

var writeReference = flag.Bool("reference", false, "write the tables of docs/configuration.md")

const (
	referencePage = "../docs/configuration.md"
	receiversPage = "../docs/notifications.md"
)

// The tables of the page between <!-- keys: NAME --> and <!-- end --> are made from the tables of
// keys.
func TestTheReferenceListsEveryKey(t *testing.T) {
	requireTables(t, referencePage, referenceTables())
	requireTables(t, receiversPage, map[string][]row{
		"receivers": rowsOf(receiverKeys, "", &newReceiver),
	})
}

func requireTables(t *testing.T, path string, tables map[string][]row) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	page := string(text)
	for name, rows := range tables {
		before, rest, ok := strings.Cut(page, "<!-- keys: "+name+" -->\n")
		require.True(t, ok, name)
		_, after, ok := strings.Cut(rest, "<!-- end -->\n")
		require.True(t, ok, name)
		page = before + "<!-- keys: " + name + " -->\n" + markdown(rows) + "<!-- end -->\n" + after
	}
	if *writeReference {
		require.NoError(t, os.WriteFile(path, []byte(page), 0o600))
		return
	}
	require.Equal(t, page, string(text), "go test ./config -reference writes the page")
}

func referenceTables() map[string][]row {
	tables := map[string][]row{}
	for _, r := range rowsOf(topKeys, "", Default()) {
		name := "settings"
		if strings.HasPrefix(r.path, "redis.") {
			name = "redis"
		}
		tables[name] = append(tables[name], r)
	}
	for _, r := range rowsOf(jobKeys, "", &Job{Spec: jobs.Defaults()}) {
		name := "job"
		for _, kind := range kindsOfWork {
			if r.path == kind || strings.HasPrefix(r.path, kind+".") {
				name = "kinds"
			}
		}
		tables[name] = append(tables[name], r)
	}
	return tables
}

func markdown(rows []row) string {
	var b strings.Builder
	b.WriteString("| key | default | values | |\n| --- | --- | --- | --- |\n")
	for _, r := range rows {
		star, about := "", r.about
		if r.live {
			about += "; a running worker applies changes"
		}
		if r.policy {
			star = " *"
		}
		fmt.Fprintf(&b, "| `%s`%s | %s | %s | %s |\n", r.path, star, r.fallback, r.values, about)
	}
	return b.String()
}
