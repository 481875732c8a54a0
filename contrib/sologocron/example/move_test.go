package example

import (
	"testing"

	"github.com/solotick/solotick/internal/movetest"
	"github.com/solotick/solotick/internal/redistest"
)

var (
	stays = movetest.Move{Page: "gocron", Before: "before", After: "after", Most: 5, Prints: "polled the inbox"}
	goes  = movetest.Move{Page: "gocron", Diff: 1, Before: "before", After: "moved", Prints: "polled the inbox"}
)

func TestGocronStaysInFiveLines(t *testing.T) { stays.Check(t) }

func TestTheMoveChangesTheseLines(t *testing.T) { goes.Check(t) }

func TestTheServicesRun(t *testing.T) { stays.Run(t, redistest.Start(t).URL(), "moved") }
