package guards

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fence"
	"github.com/solotick/solotick/fence/httpfence"
)

func put(ctx context.Context, url string, token int64) error {
	request, err := http.NewRequestWithContext(fence.NewContext(ctx, token), http.MethodPut, url, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &httpfence.Transport{}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusNoContent {
		err = errors.New(response.Status)
	}
	return errors.Join(err, response.Body.Close())
}

// A handler that was let in, and is slow, is refused where it writes: the check of the middleware
// cannot know of it.
func TestCheckWhereTheHandlerWritesLeavesNoGap(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		db := d.open(t)
		table := d.table(t, db)
		run(t, db, "CREATE TABLE note (id INTEGER PRIMARY KEY, body VARCHAR(20))")
		run(t, db, "INSERT INTO note VALUES (1, '')")
		inHandler, goOn := make(chan struct{}), make(chan struct{})
		thaw := sync.OnceFunc(func() { close(goOn) })
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			token, _ := fence.FromContext(r.Context())
			if token == 5 {
				close(inHandler)
				<-goOn
			}
			err := table.In(db).Do(r.Context(), r.URL.Path, token, func(tx *sql.Tx) error {
				_, err := tx.ExecContext(r.Context(), d.fill("UPDATE note SET body = ?"), r.Header.Get("Solotick-Fencing-Token"))
				return err
			})
			switch {
			case httpfence.Refuse(w, err):
			case err != nil:
				http.Error(w, err.Error(), http.StatusInternalServerError)
			default:
				w.WriteHeader(http.StatusNoContent)
			}
		})
		server := httptest.NewServer(httpfence.Middleware(table.In(db), func(r *http.Request) string { return r.URL.Path })(handler))
		t.Cleanup(func() {
			thaw()
			server.Close()
		})

		slow := make(chan error, 1)
		go func() { slow <- put(t.Context(), server.URL+"/note", 5) }()
		select {
		case <-inHandler:
		case err := <-slow:
			require.NoError(t, err, "it was not let in")
		}
		require.NoError(t, put(t.Context(), server.URL+"/note", 6))
		thaw()
		require.ErrorIs(t, <-slow, fence.ErrStale)
		require.ErrorIs(t, put(t.Context(), server.URL+"/note", 4), fence.ErrStale)
		require.Equal(t, int64(1), number(t, db, "SELECT COUNT(*) FROM note WHERE body = '6'"))
	})
}

func TestADatabaseThatIsAwayLetsNobodyIn(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		db := d.open(t)
		newest := d.table(t, db).In(db)
		run(t, db, "DROP TABLE solotick_guard")
		failed := make(chan error, 1)
		middleware := httpfence.Middleware(newest, func(*http.Request) string { return "a" },
			httpfence.WithFailed(func(_ *http.Request, err error) { failed <- err }))
		r := httptest.NewRequestWithContext(context.Background(), http.MethodPut, "/", nil)
		r.Header.Set(httpfence.TokenHeader, "5")
		w := httptest.NewRecorder()
		middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was let in") })).ServeHTTP(w, r)
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
		require.NotContains(t, w.Body.String(), "solotick_guard")
		require.ErrorContains(t, <-failed, "solotick_guard")
	})
}
