package grim

// HandlerID is what a handler has in the whole cluster: see [Endpoint.Synchronize].
type HandlerID uint16
