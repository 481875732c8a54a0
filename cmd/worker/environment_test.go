package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/redistest"
)

func TestCommandsGetNoSecretOfTheWorker(t *testing.T) {
	t.Parallel()
	server, dir := redistest.Start(t), t.TempDir()
	file := func(redis, name string) string {
		return fmt.Sprintf(`redis: {url: %q}
http: {addr: "127.0.0.1:0", tokens: [{name: ops, role: operate, token: "${FLEET_TOKEN}"}]}
jobs:
- name: %[2]s
  schedule: "@every 1s"
  exec: {command: [sh, -c, "env >%[3]s/part; mv %[3]s/part %[3]s/%[2]s"], env: {OWN: "${OWN_SECRET}", PATH: "%[3]s:${PATH}"}}
- {name: hook, schedule: "@yearly", http: {url: "https://example.com/${HOOK}", headers: {Authorization: "${AUTHORIZATION}"}}}
`, redis, name, dir)
	}
	path := filetest.Config(t, file("${FLEET_REDIS}", "before"))
	cmd := exec.Command(workertest.Program(t), "run", "--config", path, "--log-format", "json")
	cmd.Env = append(os.Environ(), "FLEET_REDIS="+server.URL(), "FLEET_TOKEN=token-of-the-operator", "HOOK=hook-secret", "AUTHORIZATION=auth-secret",
		"OWN_SECRET=own", "OTHER=other")
	p := workertest.Watch(t, cmd)
	for _, name := range []string{"before", "after"} {
		p.Await("tick settled", "job", name, "outcome", "succeeded")
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		for _, secret := range []string{"FLEET_", server.URL(), "token-of-the-operator", "hook-secret", "auth-secret", "OWN_SECRET"} {
			require.NotContains(t, string(text), secret, name)
		}
		lines := strings.Split(string(text), "\n")
		require.Subset(t, lines, []string{"OWN=own", "OTHER=other", "PATH=" + dir + ":" + os.Getenv("PATH")}, "what it is given, and what is no secret")
		rewrite(t, path, file(server.URL(), "after")) // the worker goes on with the URL of its start
	}
}
