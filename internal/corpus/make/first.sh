# What a server of the corpus does until it stops in order. Package main runs this with bash -euo pipefail. There are $S, the URL of the server,
# $LEVEL, $WASM, a directory of modules, $BACKUPS, one for backups, $SAVES, flags of those, $PWD, which is empty, and these commands: taskrt,
# api METHOD PATH [BODY], refused COMMAND…, crash.

# Modules, versions, an external behavior.
taskrt push "$WASM/echo.wasm"
taskrt push "$WASM/fails.wasm"
taskrt push "$WASM/trap.wasm"
taskrt push "$WASM/wait.wasm"
taskrt push "$WASM/steps.wasm"
taskrt push "$WASM/again.wasm"
taskrt push "$WASM/submits.wasm"
taskrt push "$WASM/echo.wasm" --name many
taskrt submit many --id pinned --wait
for version in 1 2 3 4 5 6 7; do
  cat > manifest.json <<END
{"schema":1,"behaviors":[{"name":"many","description":"version $version","retry":{"max_attempts":$version}}]}
END
  taskrt push "$WASM/echo.wasm" --manifest manifest.json
done
third=$(taskrt behavior show many -o json | grep -o '"versions":\[.*' | grep -o '"version":"[^"]*"' | sed -n 3p | cut -d'"' -f4)
taskrt behavior activate many "$third"
taskrt rm pinned # maintenance trims the version
cat > brief.json <<END
{"schema":1,"behaviors":[{"name":"brief","retention":{"success":"1ms","failure":"1ms"}},
  {"name":"keyed","max_concurrent":3,"concurrency_key":"/key","max_per_key":1,"id":{"strategy":"params"}},
  {"name":"hourly","repeat_every":"1h","repeat_on":"any"}]}
END
taskrt push "$WASM/echo.wasm" --manifest brief.json
cat > ops.json <<END
{"schema":1,"behaviors":[{"name":"count","operation":{"concurrency":"one_per_target","complete":"counted"}},{"name":"counted"},
  {"name":"brief-op","retention":{"success":"1ms"},"operation":{}}]}
END
taskrt push "$WASM/echo.wasm" --manifest ops.json
cat > boom.json <<END
{"schema":1,"behaviors":[{"name":"boom","operation":{"on_failure":"run_all"},"on_trap":"fail"}]}
END
taskrt push "$WASM/trap.wasm" --manifest boom.json
api PUT /v1/behaviors/pin '{"kind":"external","lease":"1h","retry":{"max_attempts":3},"max_concurrent":50}'
api PUT /v1/behaviors/quick '{"kind":"external","lease":"1s","retry":{"max_attempts":5,"initial_interval":"1h","max_interval":"1h"}}'
api PUT /v1/behaviors/gone '{"kind":"external"}'
taskrt submit gone --id of-nobody
taskrt behavior rm gone
taskrt push "$WASM/echo.wasm" --name purged
taskrt submit purged --id of-purged --delay 240h
taskrt behavior rm purged --purge # maintenance trims it

# Tasks: outcomes, retries, schedules, labels, keys of idempotency, payloads of every kind.
taskrt submit echo --id done --params '{"a":1,"b":[true,null,"ü"]}' --label team=red --label tier=1 --priority 9 --wait
taskrt submit echo --id done --if-exists rerun --wait
refused taskrt submit trap --id trapped --wait
taskrt submit fails --id retried --params 2 --wait
taskrt submit echo --id later --delay 240h --deadline 2099-01-01T00:00:00Z --label team=blue
taskrt submit echo --id at-time --not-before 2098-12-31T23:59:59.5Z --idempotency-key at-once --priority 0
taskrt submit echo --id at-time --not-before 2098-12-31T23:59:59.5Z --idempotency-key at-once --priority 0
printf '\000\377bytes' > bytes
taskrt submit echo --id bytes --params-bytes bytes --wait > /dev/null
taskrt submit steps --id checkpoints --params '{}' --wait
taskrt submit many --id versioned --wait
taskrt submit hourly --id repeats --wait
for i in 1 2 3 4 5; do taskrt submit keyed --params "{\"key\":\"k$((i % 2))\",\"n\":$i}"; done
taskrt submit keyed --params '{"key":"k1","n":1}' --wait
for ((i = 0; i < 4000; i++)); do printf '"a rose is a rose",'; done > roses
api POST /v1/tasks "{\"behavior\":\"echo\",\"id\":\"large\",\"params\":[$(cat roses)0]}" > /dev/null
taskrt blob put roses
digest=sha256:$(sha256sum roses | cut -d' ' -f1)
taskrt submit echo --id refers --params "{\"file\":{\"\$blob\":\"$digest\"}}" --delay 240h
echo "nobody needs this" > unneeded
taskrt blob put unneeded
api POST /v1/tasks '{"tasks":[{"behavior":"echo","id":"batch-1"},{"behavior":"nobody"},{"behavior":"echo","id":"batch-2","delay":"240h"}]}' > /dev/null
api POST "/v1/tasks/retried/resubmit" '{"params":1,"delay":"240h"}' > /dev/null
taskrt retry trapped --delay 240h
taskrt submit echo --id cancelled --delay 240h
taskrt cancel cancelled
taskrt submit wait --id stopped --params 600000
taskrt wait stopped --until running
taskrt cancel stopped
refused taskrt wait stopped
taskrt submit echo --id removed --delay 240h
taskrt rm removed
printf '=%s\n%s' '{"behavior":"echo","id":"child-1","params":1}' '{"behavior":"echo","id":"child-2","delay":"240h","labels":{"of":"parent"}}' > lines
taskrt submit submits --id parent --params-bytes lines --wait > /dev/null
taskrt wait child-1
taskrt submit echo --id paused
taskrt behavior pause echo
taskrt submit echo --id held
taskrt behavior resume echo
taskrt wait held
taskrt behavior pause hourly
taskrt cluster drain n1
taskrt cluster undrain n1

# External workers.
token() { grep -o '"token":[0-9]*' | head -1 | cut -d: -f2; }
accept() { api POST "/v1/behaviors/$1/accept" "{\"worker\":\"w1\",\"wait\":\"30s\",\"request_id\":\"$2\"}"; }
for id in ext-done ext-failed ext-snoozed ext-again; do taskrt submit pin --id $id --params '{"digits":4}'; done
t=$(accept pin r1 | token)
api POST /v1/tasks/ext-done/heartbeat "{\"token\":$t,\"seq\":1,\"progress\":0.5,\"checkpoint\":{\"next\":5000}}" > /dev/null
api POST /v1/tasks/ext-done/finish "{\"token\":$t,\"seq\":2,\"result\":{\"pin\":\"0042\"}}" > /dev/null
t=$(accept pin r2 | token)
api POST /v1/tasks/ext-failed/finish "{\"token\":$t,\"error\":{\"code\":\"no_pin\",\"message\":\"none\",\"retryable\":false,\"details\":{\"tried\":10000}}}" > /dev/null
t=$(accept pin r3 | token)
api POST /v1/tasks/ext-snoozed/snooze "{\"token\":$t,\"again_at\":\"2098-01-01T00:00:00Z\",\"checkpoint\":\"half\"}" > /dev/null
t=$(accept pin r4 | token)
api POST /v1/tasks/ext-again/finish "{\"token\":$t,\"result\":1,\"again_at\":\"2098-01-01T00:00:00Z\"}" > /dev/null
taskrt submit quick --id ext-lost
accept quick r5 > /dev/null
taskrt wait ext-lost --until waiting

# Transactions, records.
api POST /v1/txn "{\"depends\":[{\"id\":\"done\"}],\"submit\":[{\"behavior\":\"echo\",\"id\":\"by-txn\",\"delay\":\"240h\"}],\"update\":[{\"id\":\"later\",\"priority\":7}],\"delete\":[{\"id\":\"batch-1\"}]}" > /dev/null
api POST /taskstore/update '{"clientid":7,"adds":[{"group":"map","data":"a:0:1024"},{"group":"map","data":"a:1024:2048"},{"group":"reduce","data":"ü"}]}' > /dev/null
api POST /taskstore/claim '{"clientid":8,"group":"map","duration":3600000}' > /dev/null
api POST /taskstore/update "{\"clientid\":9,\"adds\":[{\"group\":\"large\",\"data\":\"$(head -c 70000 /dev/zero | tr '\0' x)\"}]}" > /dev/null

# Operations.
taskrt op start count --id op-done --target t1 --object o --partitions 3 --arg '{"a":1}' --label team=red --wait
refused taskrt op start boom --id op-failed --partitions 2 --wait
taskrt op retry op-failed
refused taskrt op watch op-failed
taskrt behavior pause count
taskrt op start count --id op-cancelled --target t2 --partitions a,b,c
taskrt op cancel op-cancelled
refused taskrt op watch op-cancelled
taskrt op start count --id op-removed --target t3
taskrt op rm op-removed
taskrt op start count --id op-waits --target t4 --partitions '["one","two"]'
taskrt op start brief-op --id op-brief --wait

# Namespaces: limits, shares, inactive ones, export and import, purge.
taskrt ns create shop --max-tasks 5 --max-bytes 100000 --submits-per-second 1000 --keep-failure never --weight 30 --max-running 50
taskrt push "$WASM/echo.wasm" --namespace shop
for id in one two three; do taskrt submit echo --namespace shop --id $id --params "\"$id\"" --delay 240h; done
taskrt submit echo --namespace shop --id four --wait
taskrt submit echo --namespace shop --id five --wait
refused taskrt submit echo --namespace shop --id six
taskrt ns export shop --file shop.jsonl
taskrt ns import copy shop.jsonl
taskrt ns deactivate copy
taskrt ns import lost shop.jsonl
taskrt ns purge lost --yes

# Maintenance: final tasks, operations, versions, files that nobody needs, a purged namespace. Purges above have begun runs of their own, which may
# not be finished: 5 is the refusal for that.
maintain() {
  local status
  until taskrt maintenance run --wait; do status=$?; (( status == 5 )) || exit "$status"; sleep 0.2; done
}
for id in brief-1 brief-2; do taskrt submit brief --id $id --wait; done
for i in 1 2 3; do maintain; done

# Tokens, sign-in, what is refused and recorded.
if (( LEVEL >= 2 )); then
  taskrt token create reader --role read --namespace 'sh*' > reader.token
  taskrt token create ci --role read,submit,operate --namespace default --behavior echo,many --rate 100 > ci.token
  taskrt token create old --role admin > old.token
  taskrt token rotate old > new.token
  taskrt token create short --role read --ttl 1s > short.token
  taskrt token create revoked --role read > revoked.token
  taskrt token revoke revoked
  chmod 600 ./*.token
  taskrt submit echo --id by-ci --params '"by-ci"' --delay 240h --token-file ci.token
  refused taskrt list --namespace shop --token-file ci.token
  refused taskrt submit echo --namespace shop --id not-mine --token-file reader.token
  until taskrt audit --refused true -o json | grep -q reader; do sleep 0.2; done
  taskrt oidc set work --issuer https://127.0.0.1:1/ --client-id taskrt --rule 'group=ops admin' --rule 'group=dev read,submit shop'
  taskrt token disable-root --token-file new.token
  taskrt token enable-root "${NODE[@]}"
  taskrt audit > /dev/null
fi

# Bulk jobs: one that ends, and one that is ended.
if (( LEVEL >= 3 )); then
  for i in 1 2 3 4 5; do taskrt submit echo --id "bulk-$i" --delay 240h --label job=yes; done
  taskrt cancel --label job=yes --yes --wait
  taskrt retry --label job=yes --delay 240h --yes --wait
  job=$(taskrt resubmit --label job=yes --delay 250h --rate 1 --yes -o json | grep -o '"id":"[0-9]*"' | head -1 | tr -dc 0-9)
  taskrt job cancel "$job"
  taskrt rm --id-prefix bulk-5 --yes --wait
fi

# Members, and the first backups. A newcomer is approved, demoted and removed.
if (( LEVEL >= 3 )); then
  taskrt server --id n2 --dir n2 --http 127.0.0.1:0 --raft 127.0.0.1:0 --join "$RAFT" --worker none --cluster-secret "$SECRET" > n2.out 2>&1 &
  second=$!
  until taskrt cluster status -o json | grep -q '"id":"n2"'; do sleep 0.2; done
  taskrt cluster approve n2
  taskrt cluster demote n2
  taskrt cluster remove n2 --force
  ended=0
  wait $second || ended=$?
  (( ended == 8 ))
  # shellcheck disable=SC2086 # flags
  taskrt snapshot save "$BACKUPS/saved.taskrt" $SAVES
  taskrt snapshot now --wait
fi

# A guest is killed, and runs again. One runs when the server stops.
taskrt submit wait --id crashed --params 600000
taskrt wait crashed --until running
crash
until taskrt get crashed -o json | grep -q '"status":"RUNNING".*"attempt":[2-9]'; do sleep 0.2; done
taskrt submit wait --id survives --params 600001
taskrt wait survives --until running
