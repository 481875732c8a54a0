-- Carries out operations on the items of a namespace in one statement, and returns a row for each:
-- what driver.Item does, on the rows. So a client that is frozen holds no lock.
-- keys are those of the operations, each once; ops are as operation in do.go; blobs are the bytes
-- that these name by their position; patience is for how long to wait for a lock, in ms.
CREATE FUNCTION solotick_do(space text, keys text[], ops jsonb, blobs bytea[], patience integer)
RETURNS TABLE (out_status integer, out_stamp bigint, out_id text, out_data bytea, out_leases jsonb, out_now bigint, out_list jsonb)
LANGUAGE plpgsql AS $$
DECLARE
	op jsonb;
	change jsonb;
	e jsonb;
	r solotick_item;
	there boolean;   -- the row
	fresh boolean;   -- it was made a moment ago, to be locked
	changed boolean;
	most bigint;     -- how many entries the list keeps
	clock bigint;
	wakes boolean := false;
BEGIN
	PERFORM set_config('lock_timeout', patience || 'ms', true);
	IF version() LIKE '%linux%' THEN -- the answer is sent before the transaction ends: to a client that takes it
		PERFORM set_config('tcp_user_timeout', '2s', true);
	END IF;
	IF cardinality(keys) > 1 THEN -- those who lock several do so in one order
		PERFORM FROM solotick_item WHERE namespace = space AND item_key = ANY (keys) ORDER BY item_key FOR UPDATE;
	END IF;
	FOR op IN SELECT jsonb_array_elements(ops) LOOP
		change := op->'change';
		LOOP
			SELECT * INTO r FROM solotick_item WHERE namespace = space AND item_key = op->>'key' FOR UPDATE;
			there := FOUND;
			fresh := NOT there AND (change->>'stamp' = '0' OR op ? 'append');
			EXIT WHEN NOT fresh;
			INSERT INTO solotick_item SELECT space, op->>'key', 0, '', '', '[]', 0, 0, coalesce(max(seq), 0) -- of a row that somebody has removed
				FROM solotick_entry WHERE namespace = space AND item_key = op->>'key' ON CONFLICT DO NOTHING RETURNING * INTO r;
			there := FOUND;
			EXIT WHEN there; -- otherwise another was quicker
		END LOOP;
		IF NOT there THEN
			r.stamp := 0; r.id := ''; r.data := ''; r.leases := '[]';
		END IF;
		clock := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint; -- the row is locked
		out_status := 1; out_list := NULL; changed := false; most := 0;

		IF jsonb_typeof(r.leases) <> 'array' THEN
			out_status := 0; -- it cannot be read
		ELSIF change IS NOT NULL THEN
			IF r.id = change->>'id' AND r.id <> '' THEN
				NULL; -- it was made before, and its answer was lost
			ELSIF r.stamp <> (change->>'stamp')::bigint OR r.id <> change->>'from' THEN
				out_status := 2;
			ELSIF clock < (change->>'not_before')::bigint OR clock > (change->>'not_after')::bigint THEN
				out_status := 3;
			ELSIF EXISTS (SELECT FROM jsonb_array_elements(r.leases) l WHERE change->'ended' @> (l->'token') AND (l->>'ends')::bigint > clock) THEN
				out_status := 2;
			ELSE
				changed := true;
				INSERT INTO solotick_notice (namespace, kind, body)
					SELECT space, 'change', convert_to(n::text, 'UTF8') FROM jsonb_array_elements(change->'notify') n;
				wakes := wakes OR FOUND;
			END IF;
			IF changed AND change ? 'data' THEN
				IF r.stamp = 0 THEN -- above those that were removed
					SELECT floor INTO r.stamp FROM solotick_store WHERE one = 1;
				END IF;
				r.stamp := greatest(coalesce(r.stamp, 0) + 1, (change->>'min_stamp')::bigint, clock);
				r.id := change->>'id';
				r.data := blobs[(change->>'data')::integer];
				r.keep := coalesce((change->>'keep')::bigint, 0);
				SELECT coalesce(jsonb_agg(CASE WHEN change->'stop' @> (l->'token') THEN l || '{"stopped": true}' ELSE l END), '[]') INTO r.leases FROM (
					SELECT l FROM jsonb_array_elements(r.leases) l WHERE NOT coalesce(change->'drop' @> (l->'token'), false)
						AND NOT EXISTS (SELECT FROM jsonb_array_elements(change->'leases') n WHERE n->'token' = l->'token')
					UNION ALL
					SELECT jsonb_build_object('token', CASE WHEN n->>'token' = '0' THEN r.stamp ELSE (n->>'token')::bigint END,
						'holder', n->'holder', 'ends', clock + (n->>'ttl')::bigint) FROM jsonb_array_elements(change->'leases') n
				) leases (l);
			ELSIF changed THEN
				DELETE FROM solotick_item WHERE namespace = space AND item_key = op->>'key';
				DELETE FROM solotick_entry WHERE namespace = space AND item_key = op->>'key';
				UPDATE solotick_store SET floor = r.stamp WHERE one = 1 AND floor < r.stamp;
				r.stamp := 0; r.id := ''; changed := false; fresh := false;
			END IF;
		ELSIF op ? 'renew' THEN
			changed := EXISTS (SELECT FROM jsonb_array_elements(r.leases) l WHERE l @> (op->'renew'->'lease') AND NOT l ? 'stopped');
			IF changed THEN
				SELECT jsonb_agg(CASE WHEN l @> (op->'renew'->'lease') THEN l || jsonb_build_object('ends', clock + (op->'renew'->>'ttl')::bigint) ELSE l END)
					INTO r.leases FROM jsonb_array_elements(r.leases) l;
			ELSE
				out_status := 2;
			END IF;
		ELSIF op ? 'newest' THEN
			SELECT jsonb_agg(jsonb_build_object('id', id, 'text', encode(body, 'base64'), 'at', made) ORDER BY seq DESC) INTO out_list FROM (
				SELECT id, body, made, seq FROM solotick_entry WHERE namespace = space AND item_key = op->>'key' ORDER BY seq DESC LIMIT (op->>'newest')::bigint) newest;
		END IF;

		IF changed OR op ? 'append' THEN
			FOR e IN SELECT jsonb_array_elements(coalesce(op->'append', change->'append')) LOOP
				INSERT INTO solotick_entry VALUES (space, op->>'key', r.last + 1, e->>'id', blobs[(e->>'text')::integer], clock) ON CONFLICT DO NOTHING;
				IF FOUND THEN
					r.last := r.last + 1;
					most := (e->>'most')::bigint;
				END IF;
			END LOOP;
			IF most > 0 THEN
				DELETE FROM solotick_entry WHERE namespace = space AND item_key = op->>'key' AND seq <= r.last - most;
			END IF;
			UPDATE solotick_item SET stamp = r.stamp, id = r.id, data = r.data, leases = r.leases, keep = r.keep, last = r.last,
				expires = CASE WHEN r.keep > 0 THEN clock + r.keep ELSE 0 END WHERE namespace = space AND item_key = op->>'key';
		ELSIF fresh THEN
			DELETE FROM solotick_item WHERE namespace = space AND item_key = op->>'key';
		END IF;

		out_stamp := r.stamp; out_id := r.id; out_now := clock;
		out_data := NULL; out_leases := NULL;
		IF out_status > 1 OR change IS NULL AND NOT op ? 'renew' AND NOT op ? 'newest' AND NOT op ? 'append' THEN
			out_data := r.data; out_leases := r.leases;
		END IF;
		RETURN NEXT;
	END LOOP;
	IF wakes THEN
		PERFORM pg_notify('solotick', space);
	END IF;
END $$;
