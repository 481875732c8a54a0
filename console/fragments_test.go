package console_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTabsShareAPageOfOneReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, withTokens())
		defer s.console.Close()
		get := func(target string, changes ...func(*http.Request)) string {
			return text(t, s.get(target, append([]func(*http.Request){bearer(readSecret), header("Accept", "text/html")}, changes...)...))
		}
		first := get("/jobs")
		time.Sleep(900 * time.Millisecond)
		require.Equal(t, first, get("/jobs"), "it is not made again, though its times are older")
		require.NotEqual(t, first, get("/jobs?q=report"))
		require.NotEqual(t, first, get("/jobs", header("Accept-Language", "zh")))
		require.NotEqual(t, first, get("/jobs", bearer(operateSecret)))
		require.Equal(t, http.StatusNotFound, s.get("/jobs/none", bearer(readSecret), header("Accept", "text/html")).StatusCode)
		time.Sleep(time.Second)
		require.NotEqual(t, first, get("/jobs"), "there is a newer reading")
	})
}
