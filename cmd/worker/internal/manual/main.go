// Command manual writes the man pages of the worker and the scripts by which shells complete its
// command line, for packages.
//
//	go run ./cmd/worker/internal/manual DIRECTORY VERSION
//
// SOURCE_DATE_EPOCH, in seconds, is the date of the pages.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/solotick/solotick/cmd/worker/internal/cli"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: manual DIRECTORY VERSION")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

// write fills man and completions, two directories within dir.
func write(dir, version string) error {
	root := cli.Command(version)
	pages, completions := filepath.Join(dir, "man"), filepath.Join(dir, "completions")
	if err := errors.Join(os.MkdirAll(pages, 0o750), os.MkdirAll(completions, 0o750)); err != nil {
		return err
	}
	disableDates(root)
	return errors.Join(
		doc.GenManTree(root, &doc.GenManHeader{Title: "WORKER", Section: "1", Source: "Solotick " + version, Manual: "Solotick"}, pages),
		root.GenBashCompletionFileV2(filepath.Join(completions, "worker.bash"), true),
		root.GenZshCompletionFile(filepath.Join(completions, "worker.zsh")),
		root.GenFishCompletionFile(filepath.Join(completions, "worker.fish"), true),
	)
}

// disableDates leaves out when the pages were made.
func disableDates(cmd *cobra.Command) {
	cmd.DisableAutoGenTag = true
	for _, sub := range cmd.Commands() {
		disableDates(sub)
	}
}
