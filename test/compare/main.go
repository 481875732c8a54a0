// Command compare runs the same schedule under the same faults on several libraries, with real
// processes and a real redis-server, and counts what went wrong.
//
//	make compare                                        # all, 30 s each: about 4 minutes
//	go run . -for 60s -systems solotick,gocron+redsync  # in compare/
//
// A fleet is three processes with one job, every two seconds, which writes its tick to a second
// Redis that no fault touches. Counted are ticks that were written twice or more, ticks that were
// not written, and writes that came after one of a newer tick.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/solotick/solotick/internal/sleep"
)

var systems = []string{"robfig", "robfig+redislock", "gocron+redsync", "gocron+sologocron", "solotick"}

func main() {
	d := flag.Duration("for", 30*time.Second, "how long each fleet is observed, at least 10s")
	chosen := flag.String("systems", strings.Join(systems, ","), "the libraries to compare")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, os.Stderr, *d, strings.Split(*chosen, ","), faults); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// run prints a table of all systems under all faults. The systems run side by side, the faults one
// after another.
func run(ctx context.Context, out, progress io.Writer, d time.Duration, chosen []string, faults []fault) error {
	if d < 10*time.Second {
		return fmt.Errorf("for: %q must be at least 10s", d)
	}
	for _, system := range chosen {
		if !slices.Contains(systems, system) {
			return fmt.Errorf("systems: %q must be one of %s", system, strings.Join(systems, ", "))
		}
	}
	dir, err := os.MkdirTemp("", "compare")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	_, _ = fmt.Fprintln(progress, "building the replica")
	binary, err := build(ctx, dir)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintf(table, "fault\tticks\t%s\n", strings.Join(chosen, "\t"))
	for _, x := range faults {
		_, _ = fmt.Fprintf(progress, "%s: %s\n", x.name, d)
		verdicts, err := all(ctx, binary, dir, d, chosen, x)
		if err != nil {
			return err
		}
		cells := []string{x.name, fmt.Sprint(verdicts[0].ticks)}
		for _, v := range verdicts {
			cells = append(cells, v.String())
		}
		_, _ = fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	_, _ = fmt.Fprintln(out, "duplicates / misses / stale writes")
	return table.Flush()
}

// all observes one fleet of each system under a fault.
func all(ctx context.Context, binary, dir string, d time.Duration, chosen []string, x fault) ([]verdict, error) {
	verdicts, errs := make([]verdict, len(chosen)), make([]error, len(chosen))
	var group sync.WaitGroup
	for i, system := range chosen {
		group.Go(func() { verdicts[i], errs[i] = observe(ctx, binary, dir, d, system, x) })
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return verdicts, ctx.Err()
}

// settle is how long a fleet has to start before the first tick that counts, and for takeovers
// after the last.
const settle = 6 * time.Second

func observe(ctx context.Context, binary, dir string, d time.Duration, system string, x fault) (v verdict, err error) {
	f, err := startFleet(ctx, binary, dir, system, x)
	if err != nil {
		return v, err
	}
	sleep.For(ctx, settle)
	from := time.Now()
	faulty, heal := context.WithTimeout(ctx, d)
	defer heal()
	x.happen(faulty, f)
	to := time.Now()
	sleep.For(ctx, settle)
	writes, err := f.writes(context.WithoutCancel(ctx))
	if stopped := f.stop(); err == nil {
		err = stopped
	}
	return judge(writes, from, to), err
}
