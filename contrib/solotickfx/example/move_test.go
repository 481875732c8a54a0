package main

import (
	"testing"

	"github.com/solotick/solotick/internal/movetest"
	"github.com/solotick/solotick/internal/redistest"
)

var move = movetest.Move{Page: "fx", Before: "before", After: "after", Most: 25, Prints: "reported"}

func TestTheMoveChangesTheseLines(t *testing.T) { move.Check(t) }

func TestBothProgramsRun(t *testing.T) { move.Run(t, redistest.Start(t).URL()) }
