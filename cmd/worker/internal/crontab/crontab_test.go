package crontab_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/crontab"
	"github.com/solotick/solotick/config"
)

const tab = `# a comment
SHELL=/bin/bash
PATH = "/usr/local/bin:/usr/bin:/bin"
MAILTO=ops@example.com

0 2 * * 1-5	/usr/local/bin/backup.sh --all "${HOME}"
*/15 * * * * cd /srv/app && nice -n 19 flock -n /tmp/l python3 manage.py clearsessions
CRON_TZ=Europe/Berlin
RANDOM_DELAY=5
@daily /usr/local/bin/backup.sh
RANDOM_DELAY=0
0~29 3 * * sun mail -s "100\% done" ops%Dear all,%it's done.
@reboot /usr/bin/agent
61 * * * * broken
* * * *
`

func TestCrontabBecomesAConfiguration(t *testing.T) {
	r, err := crontab.Read(strings.NewReader(tab), crontab.Options{Timezone: "America/New_York"})
	require.NoError(t, err)
	path := map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin"}
	run := func(command string) crontab.Exec {
		return crontab.Exec{Command: []string{"/bin/bash", "-c", command}, Env: path}
	}
	require.Equal(t, []crontab.Job{
		{Name: "backup", Schedule: "0 2 * * 1-5", Timezone: "America/New_York", Exec: run(`/usr/local/bin/backup.sh --all "$${HOME}"`)},
		{Name: "manage", Schedule: "*/15 * * * *", Timezone: "America/New_York", Exec: run("cd /srv/app && nice -n 19 flock -n /tmp/l python3 manage.py clearsessions")},
		{Name: "backup-2", Schedule: "@daily", Timezone: "Europe/Berlin", Jitter: "5m", Exec: run("/usr/local/bin/backup.sh")},
		{
			Name: "mail", Schedule: "H(0-29) 3 * * sun", Timezone: "Europe/Berlin",
			Exec: run("printf %s 'Dear all,\nit'\\''s done.\n' | { mail -s \"100% done\" ops\n}"),
		},
	}, r.Jobs)
	require.Equal(t, []string{"line 4: MAILTO: Solotick sends no mail of a command's output: see notifications"}, r.Warnings)
	require.Len(t, r.Faults, 3)
	require.Contains(t, r.Faults[0], "line 13: @reboot: no schedule is due when a machine starts: /usr/bin/agent")
	require.Contains(t, r.Faults[1], `line 14: "61 * * * *": `)
	require.Contains(t, r.Faults[2], "line 15: ")

	var text strings.Builder
	require.NoError(t, r.Write(&text))
	c, err := config.Parse("made", []byte(text.String()), func(string) (string, bool) { return "", false })
	require.NoError(t, err, text.String())
	require.Len(t, c.Jobs, 4)
}

func TestSystemCrontabNamesUsers(t *testing.T) {
	r, err := crontab.Read(strings.NewReader("17 * * * * root test -x /usr/sbin/anacron || run-parts /etc/cron.hourly\n@weekly www-data /usr/bin/clean\n"), crontab.Options{System: true})
	require.NoError(t, err)
	require.Empty(t, r.Faults)
	require.Len(t, r.Jobs, 2)
	require.Equal(t, "run-parts", r.Jobs[0].Name)
	require.Equal(t, "test -x /usr/sbin/anacron || run-parts /etc/cron.hourly", r.Jobs[0].Exec.Command[2])
	require.Equal(t, []string{"line 1: it ran as root: run the worker as that user", "line 2: it ran as www-data: run the worker as that user"}, r.Warnings)
}

func TestCommandGetsWhatCronWouldHaveWrittenToIt(t *testing.T) {
	out := t.TempDir() + "/out"
	r, err := crontab.Read(strings.NewReader("* * * * * cat > "+out+"; exit 3%a 'b' $c%%d\\%\n"), crontab.Options{})
	require.NoError(t, err)
	command := strings.ReplaceAll(r.Jobs[0].Exec.Command[2], "$${", "${")
	err = exec.CommandContext(t.Context(), r.Jobs[0].Exec.Command[0], "-c", command).Run() //nolint:gosec // of this test
	var failed *exec.ExitError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, 3, failed.ExitCode())
	written, err := os.ReadFile(out) //nolint:gosec // as before
	require.NoError(t, err)
	require.Equal(t, "a 'b' $c\n\nd%\n", string(written))
}

func FuzzRead(f *testing.F) {
	f.Add(tab, false)
	f.Add("* * * * * root x%y", true)
	f.Fuzz(func(t *testing.T, text string, system bool) {
		r, err := crontab.Read(strings.NewReader(text), crontab.Options{System: system})
		if err != nil {
			return
		}
		names := map[string]bool{}
		for _, job := range r.Jobs {
			require.False(t, names[job.Name], job.Name)
			names[job.Name] = true
		}
	})
}
