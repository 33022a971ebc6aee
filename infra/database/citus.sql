-- Spreads the tables that grow with reported events over the workers of a Citus cluster, by company, and runs
-- the function that stores events on the worker of its company. Rows that are already there are copied, and
-- then removed from the coordinator, where no erasure would find them. The tables are locked in the order in
-- which events are stored.
set local citus.multi_shard_modify_mode = 'sequential';
select create_distributed_table('analytics_event_ids', 'vendor_id')
  where not exists (select from pg_dist_partition where logicalrelid = 'analytics_event_ids'::regclass);
select create_distributed_table('analytics_events', 'vendor_id', colocate_with => 'analytics_event_ids')
  where not exists (select from pg_dist_partition where logicalrelid = 'analytics_events'::regclass);
select create_distributed_table('analytics_daily', 'vendor_id', colocate_with => 'analytics_event_ids')
  where not exists (select from pg_dist_partition where logicalrelid = 'analytics_daily'::regclass);
select create_distributed_table('analytics_revisions', 'vendor_id', colocate_with => 'analytics_event_ids')
  where not exists (select from pg_dist_partition where logicalrelid = 'analytics_revisions'::regclass);
select create_distributed_function(oid::regprocedure, 'vendor', colocate_with => 'analytics_event_ids')
  from pg_proc where proname = 'store_analytics_events';
select truncate_local_data_after_distributing_table(logicalrelid)
  from pg_dist_partition where pg_relation_size(logicalrelid) > 0;
