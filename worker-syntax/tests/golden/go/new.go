package main

import "fmt"

type Server struct {
	addr string
	tls  bool
}

func (s *Server) Listen(port int, backlog int) error {
	fmt.Println("listening on", port)
	return nil
}

func main() {
	s := &Server{addr: "localhost", tls: true}
	s.Listen(443, 16)
}
