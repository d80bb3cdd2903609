package main

import "fmt"

type Server struct {
	addr string
}

func (s *Server) Listen(port int) error {
	fmt.Println("listening", port)
	return nil
}

func main() {
	s := &Server{addr: "localhost"}
	s.Listen(80)
}
