package mysqllease

import "context"

// LockRow locks the row of a key, as a process does that is stopped within a transaction.
func (s *Store) LockRow(ctx context.Context, key string) error {
	tx, err := s.db.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return err
	}
	var stamp int64
	return tx.QueryRowContext(ctx, "SELECT stamp FROM solotick_item WHERE item_key = ? FOR UPDATE", key).Scan(&stamp)
}
