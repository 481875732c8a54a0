-- Carries out operations on the items of a namespace in one statement, and returns a row for each:
-- what driver.Item does, on the rows. So a client that is frozen holds no lock.
-- keys are those of the operations, each once; ops are as operation in do.go; patience is for how
-- long to wait for a lock, in ms: 0 in a transaction of somebody else, whose settings stay.
CREATE FUNCTION solotick_do(space text, keys text[], ops jsonb, patience integer)
RETURNS TABLE (out_status integer, out_stamp bigint, out_id text, out_data bytea, out_leases jsonb, out_now bigint, out_list jsonb)
LANGUAGE plpgsql AS $$
DECLARE
	op jsonb;
	change jsonb;
	renewed jsonb;   -- as leases have it
	e jsonb;
	r solotick_item;
	there boolean;   -- the row
	fresh boolean;   -- it was made a moment ago, to be locked
	changed boolean;
	most bigint;     -- how many entries the list keeps
	clock bigint;
	wakes boolean := false;
BEGIN
	IF patience > 0 THEN
		PERFORM set_config('lock_timeout', patience || 'ms', true);
	END IF;
	IF patience > 0 AND version() LIKE '%linux%' THEN -- the answer is sent before the transaction ends: to a client that takes it
		PERFORM set_config('tcp_user_timeout', '2s', true);
	END IF;
	IF cardinality(keys) > 1 THEN -- those who lock several do so in one order
		PERFORM FROM solotick_item WHERE namespace = space AND item_key = ANY (keys) ORDER BY item_key FOR UPDATE;
	END IF;
	FOR op IN SELECT jsonb_array_elements(jsonb_strip_nulls(ops)) LOOP
		change := op->'Change';
		renewed := jsonb_build_object('token', op->'Renew'->'Token', 'holder', op->'Renew'->'Holder');
		LOOP
			SELECT * INTO r FROM solotick_item WHERE namespace = space AND item_key = op->>'Key' FOR UPDATE;
			there := FOUND;
			fresh := NOT there AND (change->'From'->>'Stamp' = '0' OR op ? 'Append');
			EXIT WHEN NOT fresh;
			INSERT INTO solotick_item SELECT space, op->>'Key', 0, '', '', '[]', 0, 0, coalesce(max(seq), 0) -- of a row that somebody has removed
				FROM solotick_entry WHERE namespace = space AND item_key = op->>'Key' ON CONFLICT DO NOTHING RETURNING * INTO r;
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
			IF r.id = change->>'ID' AND r.id <> '' THEN
				NULL; -- it was made before, and its answer was lost
			ELSIF r.stamp <> (change->'From'->>'Stamp')::bigint OR r.id <> change->'From'->>'ID' THEN
				out_status := 2;
			ELSIF clock < (op->>'NotBefore')::bigint OR clock > (op->>'NotAfter')::bigint THEN
				out_status := 3;
			ELSIF EXISTS (SELECT FROM jsonb_array_elements(r.leases) l WHERE change->'Ended' @> (l->'token') AND (l->>'ends')::bigint > clock) THEN
				out_status := 2;
			ELSE
				changed := true;
				INSERT INTO solotick_notice (namespace, kind, body)
					SELECT space, 'change', convert_to(n::text, 'UTF8') FROM jsonb_array_elements(op->'Notices') n;
				wakes := wakes OR FOUND;
				IF (op->'Index'->>'Due')::bigint > 0 THEN
					INSERT INTO solotick_due VALUES (space, op->>'Key', op->'Index'->>'Job', (op->'Index'->>'Share')::integer, (op->'Index'->>'Due')::bigint)
						ON CONFLICT (namespace, item_key) DO UPDATE SET due = excluded.due;
				ELSIF op ? 'Index' THEN
					DELETE FROM solotick_due WHERE namespace = space AND item_key = op->>'Key';
				END IF;
			END IF;
			IF changed AND change ? 'Data' THEN
				IF r.stamp = 0 THEN -- above those that were removed
					SELECT floor INTO r.stamp FROM solotick_store WHERE one = 1;
				END IF;
				r.stamp := greatest(coalesce(r.stamp, 0) + 1, (change->>'MinStamp')::bigint, clock);
				r.id := change->>'ID';
				r.data := decode(change->>'Data', 'base64');
				r.keep := ((change->>'Keep')::bigint + 999) / 1000;
				SELECT coalesce(jsonb_agg(CASE WHEN change->'Stop' @> (l->'token') THEN l || '{"stopped": true}' ELSE l END), '[]') INTO r.leases FROM (
					SELECT l FROM jsonb_array_elements(r.leases) l WHERE NOT coalesce(change->'Drop' @> (l->'token'), false)
						AND NOT EXISTS (SELECT FROM jsonb_array_elements(change->'Leases') n WHERE n->'Token' = l->'token')
					UNION ALL
					SELECT jsonb_build_object('token', CASE WHEN n->>'Token' = '0' THEN r.stamp ELSE (n->>'Token')::bigint END,
						'holder', n->'Holder', 'ends', clock + ((n->>'TTL')::bigint + 999) / 1000) FROM jsonb_array_elements(change->'Leases') n
				) leases (l);
			ELSIF changed THEN
				DELETE FROM solotick_item WHERE namespace = space AND item_key = op->>'Key';
				DELETE FROM solotick_entry WHERE namespace = space AND item_key = op->>'Key';
				UPDATE solotick_store SET floor = r.stamp WHERE one = 1 AND floor < r.stamp;
				r.stamp := 0; r.id := ''; changed := false; fresh := false;
			END IF;
		ELSIF op ? 'Renew' THEN
			changed := EXISTS (SELECT FROM jsonb_array_elements(r.leases) l WHERE l @> renewed AND NOT l ? 'stopped');
			IF changed THEN
				SELECT jsonb_agg(CASE WHEN l @> renewed THEN l || jsonb_build_object('ends', clock + ((op->'Renew'->>'TTL')::bigint + 999) / 1000) ELSE l END)
					INTO r.leases FROM jsonb_array_elements(r.leases) l;
			ELSE
				out_status := 2;
			END IF;
		ELSIF (op->>'Newest')::bigint > 0 THEN
			SELECT jsonb_agg(jsonb_build_object('id', id, 'text', encode(body, 'base64'), 'at', made) ORDER BY seq DESC) INTO out_list FROM (
				SELECT id, body, made, seq FROM solotick_entry WHERE namespace = space AND item_key = op->>'Key' ORDER BY seq DESC LIMIT (op->>'Newest')::bigint) newest;
		END IF;

		IF changed OR op ? 'Append' THEN
			FOR e IN SELECT jsonb_array_elements(coalesce(op->'Append', change->'Append')) LOOP
				INSERT INTO solotick_entry VALUES (space, op->>'Key', r.last + 1, e->>'ID', decode(coalesce(e->>'Text', ''), 'base64'), clock) ON CONFLICT DO NOTHING;
				IF FOUND THEN
					r.last := r.last + 1;
					most := greatest((e->>'Max')::bigint, 1);
				END IF;
			END LOOP;
			IF most > 0 THEN
				DELETE FROM solotick_entry WHERE namespace = space AND item_key = op->>'Key' AND seq <= r.last - most;
			END IF;
			UPDATE solotick_item SET stamp = r.stamp, id = r.id, data = r.data, leases = r.leases, keep = r.keep, last = r.last,
				expires = CASE WHEN r.keep > 0 THEN clock + r.keep ELSE 0 END WHERE namespace = space AND item_key = op->>'Key';
		ELSIF fresh THEN
			DELETE FROM solotick_item WHERE namespace = space AND item_key = op->>'Key';
		END IF;

		out_stamp := r.stamp; out_id := r.id; out_now := clock;
		out_data := NULL; out_leases := NULL;
		IF out_status > 1 OR change IS NULL AND NOT op ? 'Renew' AND (op->>'Newest')::bigint = 0 AND NOT op ? 'Append' THEN
			out_data := r.data; out_leases := r.leases;
		END IF;
		RETURN NEXT;
	END LOOP;
	IF wakes THEN
		PERFORM pg_notify('solotick', space);
	END IF;
END $$;
