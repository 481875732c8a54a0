// Command export writes a table to a file, a page at a time. When a replica dies, the next one goes
// on after the last page that was kept, and no row is written twice.
//
//	go run ./examples/export -file /tmp/orders.csv                                   # alone, without Redis
//	go run ./examples/export -file /tmp/orders.csv -redis redis://localhost:6379/0   # start it several times, and kill one
//
// solotick.yaml has the same as a command, export.sh.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
)

const (
	pages = 100
	page  = 10 // rows
)

// position is where the export is.
type position struct {
	Page  int   `json:"page"`  // the last one that is written
	Bytes int64 `json:"bytes"` // of the file up to its end
}

func main() {
	file := flag.String("file", "orders.csv", "where to export to")
	url := flag.String("redis", "", "URL of the Redis that the replicas share; empty: none, this process is alone")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := solotick.On(new(memlease.Store))
	if *url != "" {
		options, err := redis.ParseURL(*url)
		if err != nil {
			log.Fatal(err)
		}
		s = solotick.New(redis.NewClient(options), "export")
	}
	if err := s.Func("export", "@every 2m", exportTo(*file)); err != nil {
		log.Fatal(err)
	}
	if err := s.Run(ctx); err != nil {
		log.Fatal(err)
	}
}

func exportTo(path string) jobs.Handler {
	return func(ctx context.Context, run jobs.Run) (err error) {
		var at position
		if len(run.Position) > 0 { // an earlier attempt came so far
			if err := json.Unmarshal(run.Position, &at); err != nil {
				return jobs.Permanent(err)
			}
		}
		file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }() // what matters was synced
		for {
			// What was written after the checkpoint is written again.
			if err := file.Truncate(at.Bytes); err != nil || at.Page == pages {
				return err
			}
			text := readPage(at.Page + 1)
			if _, err := file.WriteAt(text, at.Bytes); err != nil {
				return err
			}
			if err := file.Sync(); err != nil { // the position must not be ahead of the file
				return err
			}
			at = position{at.Page + 1, at.Bytes + int64(len(text))}
			text, err := json.Marshal(at)
			if err != nil {
				return err
			}
			if err := run.Checkpoint(ctx, text); err != nil {
				return err
			}
			if err := run.Progress(ctx, 100*at.Page/pages, fmt.Sprintf("page %d of %d", at.Page, pages)); err != nil {
				return err
			}
		}
	}
}

// readPage stands for a query of a table that takes a second.
func readPage(n int) (text []byte) {
	time.Sleep(time.Second)
	for row := range page {
		text = fmt.Appendf(text, "order %d\n", (n-1)*page+row+1)
	}
	return text
}
