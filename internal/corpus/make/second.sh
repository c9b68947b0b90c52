# What a server of the corpus does after its restart, until it is killed. See first.sh.
taskrt wait survives --until running
taskrt wait crashed --until running
taskrt cancel crashed
refused taskrt wait crashed
taskrt submit echo --id second --params '{"after":"the restart"}' --wait
taskrt submit steps --id second-steps --wait
for id in held-1 held-2 held-3; do taskrt submit pin --id $id --params '"held"'; done
api POST /v1/behaviors/pin/accept '{"worker":"w2","max":2,"request_id":"held"}' > leases
taskrt submit wait --id runs --params 600002 --label runs=yes
taskrt wait runs --until running
taskrt behavior resume count
taskrt op watch op-waits
taskrt op start count --id op-second --target t9 --partitions 2 --wait
taskrt ns set shop --max-tasks 50
taskrt submit echo --namespace shop --id last --wait
if (( LEVEL >= 2 )); then
  taskrt token create second --role read,submit --namespace default > second.token
fi
if (( LEVEL >= 3 )); then
  rm "$BACKUPS/saved.taskrt"
  # shellcheck disable=SC2086 # flags
  taskrt snapshot save "$BACKUPS/saved.taskrt" $SAVES
  taskrt snapshot now --wait
fi
