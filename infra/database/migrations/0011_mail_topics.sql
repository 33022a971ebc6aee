create index mails_of_topic on mails (vendor_id, kind, md5(topic)); -- Whether a company was told before.
