//go:build release

// What takes a minute to build is tested by make release.

package deploy

import (
	"bufio"
	"context"
	"debug/elf"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const dockerfile = "Dockerfile"

// image has the instructions of the Dockerfile.
type image struct {
	build      []string    // the commands that write into /out
	copied     [][2]string // from the build stage, to the image
	user       string
	entrypoint []string
	cmd        []string
}

func readImage() (img image, err error) {
	file, err := os.ReadFile(dockerfile)
	if err != nil {
		return img, err
	}
	for line := range strings.Lines(string(file)) {
		instruction, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch instruction {
		case "RUN":
			if strings.Contains(rest, "/out/") {
				img.build = append(img.build, rest)
			}
		case "COPY":
			if from, ok := strings.CutPrefix(rest, "--from=build "); ok {
				fields := strings.Fields(from)
				for _, source := range fields[:len(fields)-1] {
					target := fields[len(fields)-1]
					if strings.HasSuffix(target, "/") {
						target += filepath.Base(source)
					}
					img.copied = append(img.copied, [2]string{source, target})
				}
			}
		case "USER":
			img.user = rest
		case "ENTRYPOINT":
			err = json.Unmarshal([]byte(rest), &img.entrypoint)
		case "CMD":
			err = json.Unmarshal([]byte(rest), &img.cmd)
		}
		if err != nil {
			return img, err
		}
	}
	return img, nil
}

const builtVersion = "v0.0.0-test"

// built runs the Dockerfile's commands once for all tests, and returns the folder that is /out there.
var built = sync.OnceValues(func() (string, error) {
	img, err := readImage()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "image")
	if err != nil {
		return "", err
	}
	buildDir = dir
	build := exec.Command("sh", "-euc", strings.ReplaceAll(strings.Join(img.build, "\n"), "/out/", dir+"/"))
	build.Dir = ".."
	build.Env = append(os.Environ(), "VERSION="+builtVersion)
	build.Stderr = os.Stderr
	return dir, build.Run()
})

var buildDir string

func TestMain(m *testing.M) {
	code := m.Run()
	if buildDir != "" {
		_ = os.RemoveAll(buildDir)
	}
	os.Exit(code)
}

func worker(t *testing.T) string {
	t.Helper()
	dir, err := built()
	require.NoError(t, err)
	return filepath.Join(dir, "worker")
}

// TestImageRunsReadOnlyAndNotAsRoot makes the image's file system and runs its command in it.
func TestImageRunsReadOnlyAndNotAsRoot(t *testing.T) {
	program := worker(t)
	img, err := readImage()
	require.NoError(t, err)
	require.Equal(t, "65532:65532", img.user)
	binary, err := elf.Open(program)
	require.NoError(t, err)
	require.False(t, slices.ContainsFunc(binary.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }), "it is static")
	require.NoError(t, binary.Close())

	root := t.TempDir()
	for _, file := range img.copied {
		source := strings.Replace(file[0], "/out/", filepath.Dir(program)+"/", 1)
		source = strings.Replace(source, "/src/", "../", 1)
		place(t, source, filepath.Join(root, file[1]))
	}
	config := filepath.Join(root, img.cmd[slices.Index(img.cmd, "--config")+1])
	require.NoError(t, os.MkdirAll(filepath.Dir(config), 0o750))
	require.NoError(t, os.WriteFile(config, []byte("store: {url: 'memory:'}\nhttp: {addr: '127.0.0.1:0'}\nlog: {format: json}\n"+
		"jobs:\n- {name: hello, schedule: '@every 1s', timezone: Europe/Berlin, log: {message: the tick was run}}\n"), 0o600))
	chmod(t, root, false)
	t.Cleanup(func() { chmod(t, root, true) })
	before := list(t, root)

	args := slices.Concat(img.entrypoint, img.cmd)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Path, cmd.Env, cmd.Dir = args[0], []string{}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65532, Gid: 65532}
	} else { // a namespace in which this user is the image's
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 65532, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 65532, HostID: os.Getgid(), Size: 1}}
	}
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	log := ""
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		log += lines.Text() + "\n"
		if strings.Contains(lines.Text(), "the tick was run") {
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		}
	}
	require.NoError(t, cmd.Wait(), log)
	require.Contains(t, log, builtVersion)
	require.Contains(t, log, "the tick was run")
	require.Equal(t, before, list(t, root), "it has written nothing")
}

// place copies a file of the build stage. Certificates that this machine does not have are left
// empty: nothing here asks for them.
func place(t *testing.T, source, target string) {
	t.Helper()
	content, err := os.ReadFile(source)
	if !strings.HasPrefix(source, "/etc/ssl/") {
		require.NoError(t, err)
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(target), 0o750))
	require.NoError(t, os.WriteFile(target, content, 0o600))
}

// chmod lets everybody read and run the files, and the owner write them or not.
func chmod(t *testing.T, root string, writable bool) {
	require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if writable {
			return os.Chmod(path, 0o755) //nolint:gosec // a temporary directory
		}
		return os.Chmod(path, 0o555) //nolint:gosec // another user runs the files
	}))
	// The directories above it are this test's alone, and another user has to pass them.
	for dir := filepath.Dir(root); !writable && strings.HasPrefix(dir, os.TempDir()) && dir != os.TempDir(); dir = filepath.Dir(dir) {
		require.NoError(t, os.Chmod(dir, 0o755)) //nolint:gosec // as above
	}
}

func list(t *testing.T, root string) (files []string) {
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		files = append(files, path+" "+info.Mode().String()+" "+info.ModTime().String())
		return err
	}))
	return files
}
