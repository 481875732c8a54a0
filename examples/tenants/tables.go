package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/lease/pglease"
	"github.com/solotick/solotick/schedules"
)

// inPostgres is a table beside those of the store.
type inPostgres struct {
	db    *sql.DB
	store *pglease.Store
}

func openPostgres(ctx context.Context, url string) (*inPostgres, error) {
	db, err := sql.Open("pgx", url)
	if err != nil {
		return nil, err
	}
	store, err := pglease.Open(url, namespace)
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS tenants (name text PRIMARY KEY, cron text NOT NULL, timezone text NOT NULL, format text NOT NULL)")
	return &inPostgres{db, store}, err
}

func (p *inPostgres) change(ctx context.Context, reports *schedules.Schedules, name string, t *tenant, then func(*schedules.Schedules) error) error {
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing after the commit
	if t == nil {
		_, err = tx.ExecContext(ctx, "DELETE FROM tenants WHERE name = $1", name)
	} else {
		_, err = tx.ExecContext(ctx, "INSERT INTO tenants VALUES ($1, $2, $3, $4)"+
			" ON CONFLICT (name) DO UPDATE SET cron = excluded.cron, timezone = excluded.timezone, format = excluded.format", name, t.Cron, t.Timezone, t.Format)
	}
	if err == nil {
		err = then(reports.On(p.store.InTx(tx)))
	}
	if err != nil {
		return err
	}
	return tx.Commit()
}

func (p *inPostgres) all(ctx context.Context) (map[string]tenant, error) {
	rows, err := p.db.QueryContext(ctx, "SELECT name, cron, timezone, format FROM tenants")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	list := map[string]tenant{}
	for rows.Next() {
		var name string
		var t tenant
		if err := rows.Scan(&name, &t.Cron, &t.Timezone, &t.Format); err != nil {
			return nil, err
		}
		list[name] = t
	}
	return list, rows.Err()
}

// inRedis is a table in a hash.
type inRedis struct{ client *redis.Client }

const tenantsKey = namespace + ":tenants"

func (r inRedis) change(ctx context.Context, reports *schedules.Schedules, name string, t *tenant, then func(*schedules.Schedules) error) error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if t == nil {
		err = r.client.HDel(ctx, tenantsKey, name).Err()
	} else {
		err = r.client.HSet(ctx, tenantsKey, name, text).Err()
	}
	if err != nil {
		return err
	}
	return then(reports)
}

func (r inRedis) all(ctx context.Context) (map[string]tenant, error) {
	texts, err := r.client.HGetAll(ctx, tenantsKey).Result()
	list := make(map[string]tenant, len(texts))
	for name, text := range texts {
		var row tenant
		err = errors.Join(err, json.Unmarshal([]byte(text), &row))
		list[name] = row
	}
	return list, err
}
