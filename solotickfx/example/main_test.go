package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/internal/redistest"
)

func TestTheServiceStartsAndStops(t *testing.T) {
	var s *solotick.Scheduler
	app := fx.New(service(redistest.Start(t).URL()), fx.Populate(&s))
	require.NoError(t, app.Start(t.Context()))
	require.NoError(t, s.WaitReady(t.Context()))
	require.NoError(t, app.Stop(t.Context()))
	require.Error(t, fx.New(service("not a URL")).Start(t.Context()))
}
