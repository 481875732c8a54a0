package sqlfence

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Dialect is how a database writes SQL. The zero value is none.
type Dialect int

const (
	PostgreSQL Dialect = 1 + iota // 9.5 or later
	SQLite                        // 3.24 or later
	MySQL                         // 5.7 or later, and MariaDB 10.3 or later, with which it is tested
)

func (d Dialect) String() string {
	switch d {
	case PostgreSQL:
		return "PostgreSQL"
	case SQLite:
		return "SQLite"
	case MySQL:
		return "MySQL"
	}
	return fmt.Sprintf("Dialect(%d)", int(d))
}

// placeholder is that of a statement's nth argument, from 1.
func (d Dialect) placeholder(n int) string {
	if d == PostgreSQL {
		return "$" + strconv.Itoa(n)
	}
	return "?"
}

func (d Dialect) quote(name string) string {
	mark := `"`
	if d == MySQL {
		mark = "`"
	}
	return mark + strings.ReplaceAll(name, mark, mark+mark) + mark
}

// quoteTable quotes what may be a schema, a dot and a table.
func (d Dialect) quoteTable(name string) string {
	parts := strings.Split(name, ".")
	for i, part := range parts {
		parts[i] = d.quote(part)
	}
	return strings.Join(parts, ".")
}

// current makes a query read the committed state, where it would else read the state at the start
// of the transaction.
func (d Dialect) current() string {
	if d == MySQL {
		return " FOR UPDATE"
	}
	return ""
}

func (d Dialect) validate() error {
	if d < PostgreSQL || d > MySQL {
		return fmt.Errorf("sqlfence: dialect %d: must be PostgreSQL, SQLite or MySQL", int(d))
	}
	return nil
}

// validName checks one name, or all parts of a table's.
func validName(field, value string, parts int) error {
	rule := "must be 1 to 63 bytes of UTF-8 without a NUL"
	if parts > 1 {
		rule = "must be a table, or a schema, a dot and a table, each of 1 to 63 bytes of UTF-8 without a NUL"
	}
	names := []string{value}
	if parts > 1 {
		names = strings.Split(value, ".")
	}
	bad := len(names) > parts
	for _, name := range names {
		bad = bad || name == "" || len(name) > 63 || !utf8.ValidString(name) || strings.ContainsRune(name, 0)
	}
	if bad {
		return fmt.Errorf("sqlfence: %s %.200q: %s", field, value, rule)
	}
	return nil
}

func validTable(value string) error { return validName("table", value, 2) }

func validColumns(key, token string) error {
	err := errors.Join(validName("key", key, 1), validName("token", token, 1))
	if err == nil && strings.EqualFold(key, token) {
		err = fmt.Errorf("sqlfence: token %q: must be another column than the key", token)
	}
	return err
}
