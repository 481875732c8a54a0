//go:build !linux

package sqlitelease

func checkFileSystem(string) error { return nil }

func mayBeShared(string) string { return "" }

func freeSpace(string) (bytes uint64, known bool) { return 0, false }

func lockHolder(string) string { return "" }
