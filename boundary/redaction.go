package boundary

import (
	"context"
	"errors"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/redact"
)

// redactRequest makes what may be stored of the arguments; the tool gets them as
// they are. Arguments of which no view can be made are refused: they may not be
// stored, and a call without its arguments is no record.
func (c *call) redactRequest(ctx context.Context) *refusal {
	c.stored = c.request.Bytes()
	if c.b.redactor == nil {
		return nil
	}
	view, err := c.redacted(ctx, redact.Arguments, c.stored)
	if err == nil {
		var request canonical.Request
		if request, err = canonical.ParseRequest(view, int(c.run.limits.RequestBytes)); err == nil {
			c.stored = request.Bytes()
			return nil
		}
	}
	return &refusal{lifecycle.InvalidInput, "redact the arguments", err}
}

// redactRaw replaces a result by its view, before anything else sees it: what is
// saved, projected, settled or handed over later is the view. Without one the
// result is gone; its size is all that is known.
func (c *call) redactRaw(ctx context.Context, raw *canonical.Raw) error {
	if c.b.redactor == nil || !raw.Present() {
		return nil
	}
	view, err := c.redacted(context.WithoutCancel(ctx), redact.Result, raw.Bytes)
	if err != nil {
		*raw = canonical.Raw{Size: raw.Size, AtLeast: true}
		return err
	}
	*raw = canonical.NewRaw(view)
	if limit := c.action.rawLimit(c.run.limits); raw.Size > limit {
		raw.Bytes = nil
		return ErrRawLimit
	}
	return nil
}

// redacted makes one view, in the time that a projector has.
func (c *call) redacted(ctx context.Context, kind redact.Kind, value []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.run.limits.ProjectorTimeout)
	defer cancel()
	view, err := c.b.redactor.Redact(ctx, kind, value)
	if err != nil {
		return nil, errors.Join(errNotRedacted, err)
	}
	return view.Text, nil
}

var errNotRedacted = errors.New("no view could be made of what may not be stored as it is")

// policy is what the record says of how its bodies were made.
func (b *ToolBoundary) policy() string {
	if b.redactor == nil {
		return ""
	}
	return b.redactor.Fingerprint()
}

// captureLimit is how much a tool may return before redaction.
func (c *call) captureLimit() int64 {
	if limit := c.action.rawLimit(c.run.limits); c.b.redactor == nil || c.b.captureBytes <= limit {
		return limit
	}
	return c.b.captureBytes
}
