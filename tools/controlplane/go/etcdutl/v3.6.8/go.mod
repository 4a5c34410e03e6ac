module nodemend.io/tools/controlplane/etcdutl

go 1.24.0

require (
require go.etcd.io/etcd/etcdutl/v3 v3.6.8
