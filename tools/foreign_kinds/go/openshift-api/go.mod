module nodemend.io/tools/foreign_kinds/openshift-api

go 1.25.0

require github.com/openshift/api v0.0.0-20260710095909-1cb630ce7109
