package ondine

// #include "shims.h"
import "C"

import "runtime"

// Cancel asks calls to end: those of the models that watch it (Model.SetCancel).
type Cancel struct{ p *C.ondine_cancel }

// NewCancel makes a flag.
func NewCancel() (*Cancel, error) {
	c := &Cancel{}
	if err := check(C.ondine_cancel_new(&c.p)); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(c, (*Cancel).Close)
	return c, nil
}

// Close frees the flag.
func (c *Cancel) Close() {
	runtime.SetFinalizer(c, nil)
	C.ondine_cancel_free(c.p)
}

// Request ends calls that watch the flag with ErrCancelled, until it is reset.
func (c *Cancel) Request() error {
	defer runtime.KeepAlive(c)
	return check(C.ondine_cancel_request(c.p))
}

// Reset lets calls run again.
func (c *Cancel) Reset() error {
	defer runtime.KeepAlive(c)
	return check(C.ondine_cancel_reset(c.p))
}
