package lead

import (
	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// familyRounds bounds how often a family is proposed again because a behavior changed between the check and the
// proposal.
const familyRounds = 10

// proposeFamily ends a run that succeeded with children: its finish and their submits are one transaction. If the transaction is refused, the finish
// alone asks whether the run is over already, perhaps by this very report whose answer was lost. If it is over, the answer says how it ended,
// whatever has become of the children's behaviors since.
func (p *reportPump) proposeFamily(r *stream.Report) stream.Ack {
	ack := stream.Ack{ID: r.ID}
	if r.Finish == nil || r.Finish.Error != nil || !sound(*r) || !fewChildren(r.Children) {
		ack.Code, ack.Message = task.InvalidCommand, "children come with a success, at most 100 in 512 KiB"
		return ack
	}
	finish := *r.Finish
	finish.InTxn = true
	for range familyRounds {
		refusal, err := p.tryFamily(&finish, r.Children)
		if err == nil && refusal.Code == task.OK {
			return ack
		}
		if err == nil && refusal.Code == task.BlobGone && refusal.Field == "result" { // its worker has the bytes
			ack.Code, ack.Message = refusal.Code, refusal.Message
			return ack
		}
		told, askErr := p.term.decide(finish)
		switch {
		case askErr != nil:
			ack.Retry = true
			return ack
		case told[0].Code != task.Conflict:
			ack.Code, ack.Message, ack.Repeated = told[0].Code, told[0].Message, told[0].Repeated
			return ack
		case err == nil && view.CheckAgain(refusal.Code):
			continue // make the submits anew from the behaviors as they are now
		case err != nil && undecided(err):
			ack.Retry = true
			return ack
		}
		if err == nil {
			err = refusedChild(&refusal)
		}
		ack.Code, ack.Message = stream.ChildRefused, err.Error()
		return ack
	}
	ack.Retry = true
	return ack
}

// refusedChild says why the transaction of a run that goes on was refused.
func refusedChild(r *task.Result) error {
	e := view.Refusal(r)
	if r.Code == task.Conflict && len(r.Reasons) > 0 {
		e = api.FieldError(string(task.AlreadyExists), "id", "there is a task %s, of another behavior or submitted with if_exists fail", r.Reasons[0].ID)
	}
	return e
}

func fewChildren(docs [][]byte) bool {
	n := 0
	for _, doc := range docs {
		n += len(doc)
	}
	return len(docs) <= abi.MaxChildren && n <= abi.MaxChildrenBytes
}

// undecided reports whether an error says nothing about the children.
func undecided(err error) bool {
	e := view.Error(err)
	return e.Status >= 500 || e.Code == api.CodeOverloaded
}

// tryFamily proposes the transaction once. An error is about a child, or says that nothing was decided (see undecided).
func (p *reportPump) tryFamily(finish *task.Finish, docs [][]byte) (task.Result, error) {
	submits, err := p.term.hub.cfg.Children(p.term.ctx, finish, docs)
	if err != nil {
		return task.Result{}, err
	}
	rs, err := p.term.decide(task.Txn{Namespace: finish.Key.Namespace, Submits: submits, Finishes: []task.Finish{*finish}})
	switch {
	case tooLarge(err):
		return task.Result{}, api.NewError(api.CodeInvalidField, "the children are too large for one entry of the log")
	case err != nil:
		return task.Result{}, api.NewError(api.CodeNotReady, "%v", err)
	}
	return rs[0], nil
}
