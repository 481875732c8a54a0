package main

import (
	"context"
	"fmt"
	"os"
)

func Example() {
	if err := demo(context.Background(), os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// frozen: granted
	// awake: granted, token is higher: true
	// awake writes 100: <nil>
	// frozen writes 50, and is refused as stale: true
	// balance: 100
}
