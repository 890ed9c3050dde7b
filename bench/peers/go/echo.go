// SPDX-License-Identifier: MIT
package main

import (
	"fmt"
	"net"
	"os"
)

const echoBytes = 1024

func fail(err error) {
	fmt.Fprintln(os.Stderr, "go_peer:", err)
	os.Exit(1)
}

func serve(connection net.Conn) {
	defer connection.Close()
	var bytes [echoBytes]byte
	for {
		n, err := connection.Read(bytes[:])
		if err != nil {
			return
		}
		if _, err := connection.Write(bytes[:n]); err != nil {
			return
		}
	}
}

// echo is bench/apps/echo.c with goroutines.
func echo() {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		fail(err)
	}
	fmt.Printf("port %d\n", listener.Addr().(*net.TCPAddr).Port)
	for {
		connection, err := listener.Accept()
		if err != nil {
			fail(err)
		}
		go serve(connection)
	}
}
