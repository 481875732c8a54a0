package mysqllease

import "context"

// Lock locks the row of a key, as a process does that is stopped within a transaction.
func (s *Store) Lock(ctx context.Context, key string) error {
	tx, err := s.db.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return err
	}
	var stamp int64
	return tx.QueryRowContext(ctx, "SELECT stamp FROM solotick_item WHERE item_key = ? FOR UPDATE", key).Scan(&stamp)
}
