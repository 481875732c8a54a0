package memlease_test

import (
	"testing"

	"github.com/solotick/solotick/internal/historytest"
	"github.com/solotick/solotick/lease/memlease"
)

func TestHistoriesOfOneScheduleAreLinearizable(t *testing.T) {
	store := new(memlease.Store)
	historytest.Schedules(t, store, store)
}
